package stablehlo

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrInvalid says that bytes are no portable artifact, or a damaged one.
var ErrInvalid = errors.New("invalid StableHLO artifact")

// The kinds of sections.
const (
	stringSection     = 0
	dialectSection    = 1
	attrSection       = 2
	attrOffsetSection = 3
	irSection         = 4
	versionSection    = 7
	propertySection   = 8
)

// The versions of the bytecode, named after what they introduced.
const (
	dialectVersions   = 1
	regionSections    = 2
	useListOrders     = 3
	elidedLocations   = 4
	nativeProperties  = 5
	maxVersion        = 6
	magic             = "ML\xefR"
	maxDepth          = 64 // nested regions and attributes
	roomPerByte       = 16 // values and copies of attributes
	vhloDialect       = "vhlo"
	builtinDialect    = "builtin"
	builtinDictionary = 1
	builtinString     = 2
)

// reader is the state of one artifact.
type reader struct {
	version    uint64
	strings    []string
	dialects   []string
	names      []opName
	attrs      entries
	types      entries
	properties [][]byte
	depth      int
	room       int // values and copies of attributes that may still follow
}

// opName is the name of an operation.
type opName struct {
	dialect, name string
	registered    bool
}

// Read reads a portable artifact. The values of attributes are bool, int64, float64, string, []any, map[string]any, Enum, Type and
// *Constant; nil stands for others, which do not affect the results. Constants share memory with data.
func Read(data []byte) (m *Module, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case malformed:
			m, err = nil, fmt.Errorf("%w: %s", ErrInvalid, why.why)
		default:
			panic(why)
		}
	}()
	if !bytes.HasPrefix(data, []byte(magic)) {
		damaged("expected MLIR bytecode")
	}
	c := &cursor{data[len(magic):]}
	r := &reader{version: c.varint(), room: roomPerByte * len(data)}
	if r.version > maxVersion {
		damaged("bytecode of version %d: expected at most %d", r.version, maxVersion)
	}
	m = &Module{Producer: c.text()}
	sections := map[byte]*cursor{}
	for len(c.b) > 0 {
		kind, content := c.section()
		if sections[kind] != nil {
			damaged("two sections of kind %d", kind)
		}
		sections[kind] = content
	}
	for _, kind := range []byte{stringSection, dialectSection, attrSection, attrOffsetSection, irSection} {
		if sections[kind] == nil {
			damaged("section %d is missing", kind)
		}
	}
	r.readStrings(sections[stringSection])
	r.readDialects(sections[dialectSection])
	r.readEntries(sections[attrSection], sections[attrOffsetSection])
	if p := sections[propertySection]; p != nil {
		for n := p.count(); n > 0; n-- {
			r.properties = append(r.properties, p.take(p.varint()))
		}
	}
	m.Functions = r.functions(sections[irSection])
	return m, nil
}

// readStrings reads the string table: the lengths in reverse order, then all strings in order, each ending with a zero.
func (r *reader) readStrings(c *cursor) {
	lengths := make([]uint64, c.count())
	for i := range lengths {
		lengths[len(lengths)-1-i] = c.varint()
	}
	for _, n := range lengths {
		s := c.take(n)
		if n == 0 {
			damaged("a string without an end")
		}
		r.strings = append(r.strings, string(s[:n-1]))
	}
}

func (r *reader) stringAt(i uint64) string {
	if i >= uint64(len(r.strings)) {
		damaged("string %d of %d", i, len(r.strings))
	}
	return r.strings[i]
}

// readDialects reads the names of dialects and their operations.
func (r *reader) readDialects(c *cursor) {
	for n := c.count(); n > 0; n-- {
		if r.version < dialectVersions {
			r.dialects = append(r.dialects, r.stringAt(c.varint()))
			continue
		}
		name, versioned := c.flagged()
		r.dialects = append(r.dialects, r.stringAt(name))
		if versioned {
			if kind, _ := c.section(); kind != versionSection {
				damaged("section %d in place of a dialect's version", kind)
			}
		}
	}
	if r.version >= elidedLocations {
		c.varint() // the number of names
	}
	for len(c.b) > 0 {
		dialect := r.dialectAt(c.varint())
		for n := c.count(); n > 0; n-- {
			o := opName{dialect: dialect}
			if r.version < nativeProperties {
				o.name = r.stringAt(c.varint())
			} else {
				var name uint64
				name, o.registered = c.flagged()
				o.name = r.stringAt(name)
			}
			r.names = append(r.names, o)
		}
	}
}

func (r *reader) dialectAt(i uint64) string {
	if i >= uint64(len(r.dialects)) {
		damaged("dialect %d of %d", i, len(r.dialects))
	}
	return r.dialects[i]
}
