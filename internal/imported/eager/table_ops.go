package eager

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// tableOps make, fill and read lookup tables.
var tableOps = tableTable()

func tableTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{}
	for _, op := range []*ops.Def{ops.HashTable, ops.HashTableV2, ops.AnonymousHashTable, ops.MutableHashTable, ops.MutableHashTableV2, ops.MutableHashTableOfTensors, ops.MutableHashTableOfTensorsV2, ops.AnonymousMutableHashTable, ops.AnonymousMutableHashTableOfTensors} {
		all[op] = makeTable
	}
	for _, op := range []*ops.Def{ops.MutableDenseHashTableV2, ops.AnonymousMutableDenseHashTable} {
		all[op] = makeTable
	}
	both := func(op, v2 *ops.Def, m maker) { all[op], all[v2] = m, m }
	both(ops.InitializeTable, ops.InitializeTableV2, onTable(func(t *Table, c call) error { return t.initializePaid(c, c.t(1), c.t(2)) }))
	both(ops.InitializeTableFromTextFile, ops.InitializeTableFromTextFileV2, initializeFromFile)
	both(ops.LookupTableFind, ops.LookupTableFindV2, onTable(func(t *Table, c call) error { return t.find(c, c.t(1), c.t(2)) }))
	both(ops.LookupTableSize, ops.LookupTableSizeV2, onTable(tableSize))
	both(ops.LookupTableInsert, ops.LookupTableInsertV2, onTable(insertPaid))
	both(ops.LookupTableImport, ops.LookupTableImportV2, onTable(importTable))
	both(ops.LookupTableExport, ops.LookupTableExportV2, onTable(exportTable))
	all[ops.LookupTableRemoveV2] = onTable(removePaid)
	return all
}

func makeTable(s *site) (kernel, error) {
	n := s.node
	proto := Table{name: ResourceKey(s.str("container", ""), s.str("shared_name", "")), key: s.dtype("key_dtype", tensor.String), value: s.dtype("value_dtype", tensor.Int64),
		mutable: n.Op != "HashTable" && n.Op != "HashTableV2" && n.Op != "AnonymousHashTable"}
	if s.str("shared_name", "") == "" {
		proto.name = ResourceKey(s.str("container", ""), n.Name)
	}
	if proto.key != tensor.String && proto.key.Size() == 0 || proto.value != tensor.String && proto.value.Size() == 0 {
		return nil, fmt.Errorf("tables of %v to %v %w", proto.key, proto.value, ErrUnsupported)
	}
	if shape, ok := n.Attrs["value_shape"].(graph.Shape); ok && len(shape.Dims) > 0 {
		if !shape.Known() {
			return nil, fmt.Errorf("attribute value_shape %v: expected known sizes", shape)
		}
		proto.shape = shape.At(1)
	}
	if _, err := elements(proto.shape); err != nil {
		return nil, err
	}
	return func(c call) error {
		marks, err := proto.marksOf(c)
		if err != nil {
			return err
		}
		fresh := func() *Table {
			return &Table{name: proto.name, key: proto.key, value: proto.value, shape: proto.shape, mutable: proto.mutable, marks: marks}
		}
		if len(n.Op) > 9 && n.Op[:9] == "Anonymous" {
			c.out[0].Resource = fresh()
			return nil
		}
		if c.env == nil || c.env.Resources == nil {
			return fmt.Errorf("tables need Env.Resources")
		}
		t := c.env.Resources.table(proto.name, fresh)
		if t.key != proto.key || t.value != proto.value || !slices.Equal(t.shape, proto.shape) {
			return fmt.Errorf("table %q maps %v to %v elsewhere, expected %v to %v", proto.name, t.key, t.value, proto.key, proto.value)
		}
		c.out[0].Resource = t
		return nil
	}, nil
}

// onTable returns the maker of a kernel whose input 0 is a table.
func onTable(f func(t *Table, c call) error) maker {
	return plain(func(c call) error {
		t, ok := c.in[0].Resource.(*Table)
		if !ok {
			return fmt.Errorf("expected a table, got %T", c.in[0].Resource)
		}
		return f(t, c)
	})
}

func tableSize(t *Table, c call) error { return c.scalarInt(0, tensor.Int64, t.Len()) }

// importTable replaces the content. A static table's content is set only once, even if several clients import it.
func importTable(t *Table, c call) error {
	if !t.mutable {
		return t.initializePaid(c, c.t(1), c.t(2))
	}
	return t.pay(c, c.t(1).Len(), func() error {
		keys, values, err := t.withoutMarks(t.listed(c.t(1)), c.t(2))
		if err != nil {
			return err
		}
		return t.insert(keys, values, true)
	})
}

func exportTable(t *Table, c call) error {
	d, err := t.content()
	if err != nil {
		return err
	}
	if d == nil {
		d = &tableData{values: tensor.New(t.value, append([]int{0}, t.shape...)...)}
	}
	keys, err := t.keyTensor(d)
	if err != nil {
		return err
	}
	c.set(0, keys)
	c.set(1, d.values)
	return nil
}

// entryCost is about the size of a table's entry without its value.
const entryCost = 100

// initializePaid sets the content of a table that has none, and pays for it.
func (t *Table) initializePaid(c call, keys, values *tensor.Tensor) error {
	return t.pay(c, keys.Len(), func() error { return t.initialize(keys, values) })
}

// insertPaid adds entries to a table. It pays for the whole table, which is copied.
func insertPaid(t *Table, c call) error {
	if err := t.refuseMarks(c.t(1)); err != nil {
		return err
	}
	n := c.t(1).Len()
	if d := t.data.Load(); d != nil {
		n += d.values.Shape[0]
	}
	return t.pay(c, n, func() error { return t.insert(c.t(1), c.t(2), false) })
}

// pay lets change replace the content, and pays for n entries for as long as the new content lives.
func (t *Table) pay(c call, n int, change func() error) error {
	need := n * (entryCost + product(t.shape)*max(t.value.Size(), stringHeader))
	if err := c.pay(need); err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	old := t.data.Load()
	if err := change(); err != nil {
		return err
	}
	if d := t.data.Load(); c.lent != nil && need >= leastPaid && d != old {
		budget.Lend(c.env.Payer.Account, d, need)
		*c.lent -= need
	}
	return nil
}
