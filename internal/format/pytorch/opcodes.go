package pytorch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

const opStop = '.'

// opcodes has the actions for the opcodes of Python's pickletools: those of protocols 2 to 5 that
// dicts, lists, numbers, texts and tensors need.
var opcodes = [256]func(*machine) error{
	0x80: func(m *machine) error { _, err := m.uint(1); return err },  // PROTO
	0x95: func(m *machine) error { _, err := m.uint(8); return err },  // FRAME
	'(':  func(m *machine) error { return m.push(mark{}) },            // MARK
	'0':  func(m *machine) error { _, err := m.pop(); return err },    // POP
	'1':  func(m *machine) error { _, err := m.marked(); return err }, // POP_MARK
	'2':  (*machine).duplicate,

	'N':  func(m *machine) error { return m.push(nil) },
	0x88: func(m *machine) error { return m.push(true) },
	0x89: func(m *machine) error { return m.push(false) },
	'J':  func(m *machine) error { n, err := m.uint(4); return m.made(int64(int32(n)), err) }, // BININT
	'K':  func(m *machine) error { n, err := m.uint(1); return m.made(int64(n), err) },        // BININT1
	'M':  func(m *machine) error { n, err := m.uint(2); return m.made(int64(n), err) },        // BININT2
	0x8a: func(m *machine) error { return m.long(1) },
	0x8b: func(m *machine) error { return m.long(4) },
	'G':  (*machine).float,

	'X':  func(m *machine) error { return m.text(4) }, // BINUNICODE
	0x8c: func(m *machine) error { return m.text(1) }, // SHORT_BINUNICODE
	0x8d: func(m *machine) error { return m.text(8) }, // BINUNICODE8
	'U':  func(m *machine) error { return m.text(1) }, // SHORT_BINSTRING, from Python 2
	'T':  func(m *machine) error { return m.text(4) }, // BINSTRING
	'C':  func(m *machine) error { return m.text(1) }, // SHORT_BINBYTES
	'B':  func(m *machine) error { return m.text(4) }, // BINBYTES

	'}':  func(m *machine) error { return m.push(&dict{}) },
	']':  func(m *machine) error { return m.push(&list{}) },
	')':  func(m *machine) error { return m.push(&list{}) },
	't':  func(m *machine) error { items, err := m.marked(); return m.made(&list{items}, err) }, // TUPLE
	'l':  func(m *machine) error { items, err := m.marked(); return m.made(&list{items}, err) }, // LIST
	0x85: func(m *machine) error { return m.tuple(1) },
	0x86: func(m *machine) error { return m.tuple(2) },
	0x87: func(m *machine) error { return m.tuple(3) },
	'a':  func(m *machine) error { items, err := m.take(1); return m.extend(items, err) },  // APPEND
	'e':  func(m *machine) error { items, err := m.marked(); return m.extend(items, err) }, // APPENDS
	's':  func(m *machine) error { items, err := m.take(2); return m.set(items, err) },     // SETITEM
	'u':  func(m *machine) error { items, err := m.marked(); return m.set(items, err) },    // SETITEMS
	'q':  func(m *machine) error { i, err := m.uint(1); return m.put(i, err) },             // BINPUT
	'r':  func(m *machine) error { i, err := m.uint(4); return m.put(i, err) },             // LONG_BINPUT
	0x94: func(m *machine) error { return m.put(uint64(len(m.memo)), nil) },                // MEMOIZE
	'h':  func(m *machine) error { i, err := m.uint(1); return m.get(i, err) },             // BINGET
	'j':  func(m *machine) error { i, err := m.uint(4); return m.get(i, err) },             // LONG_BINGET

	'c':  (*machine).global,
	0x93: (*machine).stackGlobal,
	'R':  (*machine).reduce,
	'b':  (*machine).build,
	'Q':  (*machine).persistent,
}

// made pushes a value, unless there was an error.
func (m *machine) made(v any, err error) error {
	if err != nil {
		return err
	}
	return m.push(v)
}

func (m *machine) duplicate() error {
	v, err := m.top()
	return m.made(v, err)
}

// long pushes an integer of any size. Its length is a number of size bytes.
func (m *machine) long(size int) error {
	n, err := m.uint(size)
	if err != nil {
		return err
	}
	b, err := m.bytes(n)
	if err != nil {
		return err
	}
	if n > 8 {
		return m.push(number(b))
	}
	var wide [8]byte
	if n > 0 && b[n-1] >= 0x80 {
		wide = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(wide[:], b)
	return m.push(int64(binary.LittleEndian.Uint64(wide[:])))
}

func (m *machine) float() error {
	b, err := m.bytes(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

// text pushes a string, or bytes. Its length is a number of size bytes.
func (m *machine) text(size int) error {
	n, err := m.uint(size)
	if err != nil {
		return err
	}
	b, err := m.bytes(n)
	return m.made(string(b), err)
}

func (m *machine) tuple(n int) error {
	items, err := m.take(n)
	return m.made(&list{items}, err)
}

func (m *machine) extend(items []any, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	l, ok := v.(*list)
	if !ok {
		return tensorfile.Errorf("the pickle appends to %s", kindOf(v))
	}
	l.items = append(l.items, items...)
	return nil
}

func (m *machine) set(items []any, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok || len(items)%2 != 0 {
		return tensorfile.Errorf("the pickle sets %d keys and values of %s", len(items), kindOf(v))
	}
	d.items = append(d.items, items...)
	return nil
}

func (m *machine) put(i uint64, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if m.values++; m.values > maxValues {
		return tensorfile.Errorf("more than %d values in the pickle", maxValues)
	}
	m.memo[i] = v
	return nil
}

func (m *machine) get(i uint64, err error) error {
	if err != nil {
		return err
	}
	v, ok := m.memo[i]
	if !ok {
		return tensorfile.Errorf("the pickle takes value %d, which it did not keep", i)
	}
	return m.push(v)
}

func (m *machine) global() error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	g, err := find(module, name)
	return m.made(g, err)
}

func (m *machine) stackGlobal() error {
	names, err := m.take(2)
	if err != nil {
		return err
	}
	module, a := names[0].(string)
	name, b := names[1].(string)
	if !a || !b || len(module) > maxName || len(name) > maxName {
		return tensorfile.Errorf("the pickle names a function by %s and %s", kindOf(names[0]), kindOf(names[1]))
	}
	g, err := find(module, name)
	return m.made(g, err)
}

// reduce calls a function.
func (m *machine) reduce() error {
	call, err := m.take(2)
	if err != nil {
		return err
	}
	g, isGlobal := call[0].(global)
	args, isList := call[1].(*list)
	do := functions[g]
	if !isGlobal || !isList || do == nil {
		return tensorfile.Errorf("the pickle calls %s %s with %s", kindOf(call[0]), g, kindOf(call[1]))
	}
	v, err := do(args.items)
	switch v := v.(type) { // arguments may be taken again and again
	case *dict:
		m.values += len(v.items)
	case *view:
		m.values += len(v.dims) + len(v.strides)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", g, err)
	}
	return m.push(v)
}

// build ignores the attributes of an object: a dict has the versions of the modules there.
func (m *machine) build() error {
	if _, err := m.pop(); err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	if _, ok := v.(*dict); !ok {
		return tensorfile.Errorf("the pickle sets the attributes of %s", kindOf(v))
	}
	return nil
}

// persistent takes a storage, which is outside the pickle.
func (m *machine) persistent() error {
	id, err := m.pop()
	if err != nil {
		return err
	}
	s, err := newStorage(id)
	if err != nil {
		return err
	}
	if other := m.storages[s.key]; other != nil && *other != *s {
		return tensorfile.Errorf("storage %.100q is there twice, otherwise", s.key)
	}
	m.storages[s.key] = s
	return m.push(s)
}
