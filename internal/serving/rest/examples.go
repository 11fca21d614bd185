package rest

import (
	"math"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"google.golang.org/protobuf/encoding/protowire"
)

// readExamples reads the body of a classify or regress request: the name of the signature and serialized examples. floats
// returns the features that the signature takes as floats; nil: unknown.
func readExamples(d *document, text []byte, floats func(signature string) map[string]bool) (sig string, e inference.Examples, err error) {
	if err := d.parse(text); err != nil {
		return "", e, err
	}
	if sig, err = d.signature(); err != nil {
		return sig, e, err
	}
	root := d.cursor()
	maker := exampleMaker{d: d}
	if floats != nil {
		maker.floats = floats(sig)
	}
	defer maker.free()
	if c, ok := root.member("context"); ok {
		if e.Context, err = maker.example(&c); err != nil {
			return sig, e, err
		}
	}
	refuse := func(why string) error { return invalid("JSON Value: %s %s", d.debug(root), why) }
	list, ok := root.member("examples")
	switch {
	case !ok:
		return sig, e, refuse("When method is classify, key 'examples' is expected and was not found")
	case !list.isList():
		return sig, e, refuse("Expecting 'examples' value to be an list/array")
	case list.count() == 0:
		return sig, e, refuse("'examples' value is an empty array")
	}
	if err := d.takeTimes(list.count(), stringHeader); err != nil {
		return sig, e, err
	}
	e.Serialized = make([][]byte, list.count())
	list.enter()
	for i := range e.Serialized {
		if e.Serialized[i], err = maker.example(&list); err != nil {
			return sig, e, err
		}
	}
	return sig, e, nil
}

// exampleMaker serializes tf.Examples. Each is assembled in a buffer and then copied.
type exampleMaker struct {
	d      *document
	buf    []byte          // the features of the current example
	block  []byte          // memory for small examples
	floats map[string]bool // features that are floats even if they are written as integers
}

// blockSize is how much memory is allocated for small examples at a time.
const blockSize = 64 << 10

func (m *exampleMaker) free() { m.d.account.Release(cap(m.buf)) }

// example returns the object at c as a serialized tf.Example, and moves past it. If a name is given twice, the last one
// counts, as in any map of protocol buffers.
func (m *exampleMaker) example(c *cursor) ([]byte, error) {
	if !c.isObject() {
		return nil, invalid("Example must be JSON object but got JSON %s", c.kind())
	}
	m.buf = m.buf[:0]
	count := c.count()
	c.enter()
	for range count {
		if err := m.feature(c); err != nil {
			return nil, err
		}
	}
	c.separator(c.p + 1)
	return m.keep()
}

// keep returns a copy of the current example.
func (m *exampleMaker) keep() ([]byte, error) {
	n := 1 + protowire.SizeBytes(len(m.buf))
	room := max(n, blockSize)
	if n > blockSize/4 {
		room = n
	}
	if cap(m.block)-len(m.block) < n {
		if err := m.d.take(room); err != nil {
			return nil, err
		}
		m.block = make([]byte, 0, room)
	}
	start := len(m.block)
	m.block = protowire.AppendTag(m.block, 1, protowire.BytesType)
	m.block = protowire.AppendBytes(m.block, m.buf)
	return m.block[start:len(m.block):len(m.block)], nil
}

// feature adds the member that begins at c. The values are appended after a gap for their head, whose size depends on them,
// and then moved to follow it.
func (m *exampleMaker) feature(c *cursor) (err error) {
	name := c.name()
	start, room := len(m.buf), len(name)+6*protowire.SizeVarint(math.MaxUint64)
	if cap(m.buf)-start < room {
		if m.buf, err = grown(m.d.account, m.buf, room); err != nil {
			return err
		}
	}
	f := feature{name: string(shown(name)), float: m.floats[string(name)], account: m.d.account, list: m.buf[:start+room]}
	if err := f.read(c); err != nil {
		return err
	}
	values := f.list[start+room:]
	m.buf = f.head(f.list[:start], name, len(values))
	m.buf = append(m.buf, values...)
	return nil
}

// feature is a tf.Feature. Its kind is the field number of its list, which the first value decides.
type feature struct {
	name    string // as errors show it
	kind    protowire.Number
	float   bool            // integers are floats
	account *budget.Account // pays for list
	list    []byte          // earlier content, then the values: bytes as fields, numbers packed
}

const (
	kindUnset protowire.Number = 0
	kindBytes protowire.Number = 1
	kindFloat protowire.Number = 2
	kindInt64 protowire.Number = 3
)

var kindNames = [...]string{"UNKNOWN", "bytes", "float", "int64"}

func (f *feature) read(c *cursor) error {
	if !c.isList() {
		return f.add(c)
	}
	count := c.count()
	c.enter()
	for range count {
		if err := f.add(c); err != nil {
			return err
		}
	}
	c.separator(c.p + 1)
	return nil
}

// add adds the value at c and moves past it.
func (f *feature) add(c *cursor) error {
	if err := f.room(protowire.SizeVarint(math.MaxUint64)); err != nil {
		return err
	}
	switch _, b64 := c.base64(); {
	case c.isString() || b64:
		if err := f.want(kindBytes); err != nil {
			return err
		}
		content, err := c.content(b64)
		if err != nil {
			return err
		}
		if err := f.room(len(content) + 2*protowire.SizeVarint(math.MaxUint64)); err != nil {
			return err
		}
		f.list = protowire.AppendBytes(protowire.AppendTag(f.list, 1, protowire.BytesType), content)
		c.skip()
		return nil
	}
	switch kind := c.kind(); kind {
	case "True", "False":
		if err := f.want(kindInt64); err != nil {
			return err
		}
		f.list = protowire.AppendVarint(f.list, protowire.EncodeBool(kind == "True"))
		c.skip()
		return nil
	case "Number":
		return f.number(c)
	default:
		return invalid("Feature: %s has element with unexpected JSON type: %s", f.name, kind)
	}
}

// number adds an integer, or a float32 if the number has a fraction or an exponent or does not fit 64 bits.
func (f *feature) number(c *cursor) error {
	x, end, ok := readDecimal(c.d.b, c.p)
	if ok && x.integer && !f.float {
		if err := f.want(kindInt64); err != nil {
			return err
		}
		if !x.neg && x.m > math.MaxInt64 {
			return invalid("Feature: %s has uint64_t element. Only int64_t is supported.", f.name)
		}
		v := x.m
		if x.neg {
			v = -v
		}
		f.list = protowire.AppendVarint(f.list, v)
		c.separator(end)
		return nil
	}
	if err := f.want(kindFloat); err != nil {
		return err
	}
	var v [1]float32
	floats32(c, v[:])
	f.list = protowire.AppendFixed32(f.list, math.Float32bits(v[0]))
	return nil
}

// room makes room for n more bytes.
func (f *feature) room(n int) (err error) {
	if cap(f.list)-len(f.list) < n {
		f.list, err = grown(f.account, f.list, n)
	}
	return err
}

func (f *feature) want(k protowire.Number) error {
	if f.kind == kindUnset {
		f.kind = k
	}
	if f.kind != k {
		return invalid("Unexpected element type in feature: %s expecting type: %s", f.name, kindNames[f.kind])
	}
	return nil
}

// head appends what precedes the values of an entry of Features: its name, and the kind of list.
func (f *feature) head(out, name []byte, size int) []byte {
	list, whole := size, 0 // of the list, and of the feature
	if f.kind == kindFloat || f.kind == kindInt64 {
		list = 1 + protowire.SizeBytes(size)
	}
	if f.kind != kindUnset {
		whole = 1 + protowire.SizeBytes(list)
	}
	entry := 1 + protowire.SizeBytes(len(name)) + 1 + protowire.SizeBytes(whole)
	tag := func(n protowire.Number, size int) {
		out = protowire.AppendVarint(protowire.AppendTag(out, n, protowire.BytesType), uint64(size))
	}
	tag(1, entry)
	tag(1, len(name))
	out = append(out, name...)
	tag(2, whole)
	if f.kind != kindUnset {
		tag(f.kind, list)
	}
	if f.kind == kindFloat || f.kind == kindInt64 {
		tag(1, size)
	}
	return out
}
