package stablehlo

import (
	"maps"
	"strconv"
	"strings"
)

// The optional parts of an operation.
const (
	hasAttrs = 1 << iota
	hasResults
	hasOperands
	hasSuccessors
	hasRegions
	hasUseListOrders
	hasProperties
)

// scope has the values that the operations of a region can use. Unless the region is isolated, these include the values of enclosing regions.
type scope struct{ values []*Value }

// functions reads the module and returns its functions.
func (r *reader) functions(c *cursor) (all []*Function) {
	top := r.block(c, &scope{}, new(int))
	if len(top.Ops) != 1 || top.Ops[0].Name != "module" || len(top.Ops[0].Regions) != 1 {
		damaged("expected one module")
	}
	for _, op := range top.Ops[0].Regions[0].Ops {
		if op.Name != "func" || len(op.Regions) != 1 {
			damaged("%s in a module: expected functions with a body", op.Name)
		}
		name, _ := op.Attrs["sym_name"].(string)
		all = append(all, &Function{Name: name, Body: op.Regions[0]})
	}
	return all
}

// region reads a region with one block.
func (r *reader) region(c *cursor, s *scope) *Region {
	if r.depth++; r.depth > maxDepth {
		damaged("regions lie deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	switch n := c.varint(); n {
	case 0:
		return &Region{}
	case 1:
	default:
		damaged("a region of %d blocks: expected one", n)
	}
	first, size := len(s.values), c.count()
	r.pay(size)
	s.values = append(s.values, make([]*Value, size)...)
	next := first
	b := r.block(c, s, &next)
	s.values = s.values[:first]
	return b
}

// pay counts values, and attributes that are copied.
func (r *reader) pay(n int) {
	if r.room -= n; r.room < 0 {
		damaged("more values and attributes than %d for each byte", roomPerByte)
	}
}

// block reads arguments and operations. next is the index of the region's first value that is not defined yet.
func (r *reader) block(c *cursor, s *scope, next *int) *Region {
	b := &Region{}
	count, args := c.flagged()
	if args {
		for n := c.count(); n > 0; n-- {
			b.Args = append(b.Args, &Value{r.argument(c)})
		}
		s.define(b.Args, next)
		if r.version >= useListOrders && c.byte() != 0 {
			skipOrders(c, len(b.Args))
		}
	}
	for ; count > 0; count-- {
		op := r.op(c, s, next)
		b.Ops = append(b.Ops, op)
	}
	return b
}

// argument reads the type of an argument, and its location.
func (r *reader) argument(c *cursor) Type {
	if r.version < elidedLocations {
		t := r.typeAt(c)
		c.varint()
		return t
	}
	t, located := c.flagged()
	if located {
		c.varint()
	}
	return r.typeOf(t)
}

// define assigns the next indices to values.
func (s *scope) define(all []*Value, next *int) {
	if len(all) > len(s.values)-*next {
		damaged("more values than the region states")
	}
	*next += copy(s.values[*next:], all)
}

// op reads an operation.
func (r *reader) op(c *cursor, s *scope, next *int) *Op {
	at := c.varint()
	if at >= uint64(len(r.names)) {
		damaged("operation %d of %d", at, len(r.names))
	}
	name, parts := r.names[at], c.byte()
	op := &Op{Dialect: name.dialect}
	op.Name, op.Version = plainName(name.name)
	c.varint() // the location
	if parts&hasAttrs != 0 {
		op.Attrs, _ = r.attrAt(c).(map[string]any)
	}
	if parts&hasProperties != 0 {
		r.readProperties(op, name, c)
	}
	if parts&hasResults != 0 {
		for n := c.count(); n > 0; n-- {
			op.Results = append(op.Results, &Value{r.typeAt(c)})
		}
	}
	if parts&hasOperands != 0 {
		for n := c.count(); n > 0; n-- {
			i := c.varint()
			if i >= uint64(len(s.values)) || s.values[i] == nil {
				damaged("operand %d of %s is not defined before it", i, op.Name)
			}
			op.Operands = append(op.Operands, s.values[i])
		}
	}
	if parts&hasSuccessors != 0 {
		damaged("%s leads to other blocks", op.Name)
	}
	if parts&hasUseListOrders != 0 {
		skipOrders(c, len(op.Results))
	}
	if parts&hasRegions != 0 {
		r.regions(op, c, s)
	}
	if *next < len(s.values) { // the top level has none
		s.define(op.Results, next)
	} else if len(op.Results) > 0 {
		damaged("more values than the region states")
	}
	return op
}

// regions reads the regions of an operation. Isolated regions, which use no values of others, are in a separate section.
func (r *reader) regions(op *Op, c *cursor, s *scope) {
	n, isolated := c.flagged()
	if n > uint64(len(c.b)) {
		damaged("%d regions in %d bytes", n, len(c.b))
	}
	if isolated {
		s = &scope{}
		if r.version >= regionSections {
			var kind byte
			if kind, c = c.section(); kind != irSection {
				damaged("section %d in place of a region", kind)
			}
		}
	}
	for range n {
		op.Regions = append(op.Regions, r.region(c, s))
	}
}

// readProperties reads the attributes of an operation whose names are part of its definition.
func (r *reader) readProperties(op *Op, name opName, c *cursor) {
	if !name.registered {
		op.Attrs, _ = r.attrAt(c).(map[string]any)
		return
	}
	i := c.varint()
	if i >= uint64(len(r.properties)) {
		damaged("properties %d of %d", i, len(r.properties))
	}
	p := &cursor{r.properties[i]}
	names := properties[name.name]
	if name.dialect != vhloDialect || len(names) == 0 {
		return
	}
	r.pay(len(op.Attrs))
	all := make(map[string]any, len(names)+len(op.Attrs))
	maps.Copy(all, op.Attrs) // other operations may share them
	for _, n := range names {
		all[n] = r.attrAt(p)
	}
	op.Attrs = all
}

// skipOrders skips the use-list orders of n values.
func skipOrders(c *cursor, n int) {
	orders := 1
	if n > 1 {
		orders = c.count()
	}
	for range orders {
		if n > 1 {
			c.varint()
		}
		size, _ := c.flagged()
		if size > uint64(len(c.b)) {
			damaged("%d uses in %d bytes", size, len(c.b))
		}
		for range size {
			c.varint()
		}
	}
}

// plainName splits a name such as "add_v1".
func plainName(s string) (name string, version int) {
	if i := strings.LastIndex(s, "_v"); i >= 0 {
		if v, err := strconv.Atoi(s[i+2:]); err == nil {
			return s[:i], v
		}
	}
	return s, 0
}
