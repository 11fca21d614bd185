package rest

import (
	"math"

	"github.com/goestimator/goestimator/serving/inference"
	"google.golang.org/protobuf/encoding/protowire"
)

// readExamples reads the body of a classify or regress request: the name of the signature and serialized examples.
func readExamples(d *document, text []byte) (sig string, e inference.Examples, err error) {
	if err := d.parse(text); err != nil {
		return "", e, err
	}
	if sig, err = d.signature(); err != nil {
		return sig, e, err
	}
	root := d.cursor()
	if c, ok := root.member("context"); ok {
		if e.Context, err = appendExample(nil, &c); err != nil {
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
	e.Serialized = make([][]byte, list.count())
	list.enter()
	for i := range e.Serialized {
		if e.Serialized[i], err = appendExample(nil, &list); err != nil {
			return sig, e, err
		}
	}
	return sig, e, nil
}

// appendExample appends the tf.Example that the object at c stands for, serialized, and moves behind it. Of a name
// given twice the last counts, as in any map of protocol buffers.
func appendExample(out []byte, c *cursor) ([]byte, error) {
	if !c.isObject() {
		return nil, invalid("Example must be JSON object but got JSON %s", c.kind())
	}
	var features, entry []byte
	count := c.count()
	c.enter()
	for range count {
		name := string(c.name())
		f := feature{name: name}
		if err := f.read(c); err != nil {
			return nil, err
		}
		entry = protowire.AppendTag(entry[:0], 1, protowire.BytesType)
		entry = protowire.AppendString(entry, name)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendBytes(entry, f.serialize())
		features = protowire.AppendTag(features, 1, protowire.BytesType)
		features = protowire.AppendBytes(features, entry)
	}
	c.separator(c.p + 1)
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	return protowire.AppendBytes(out, features), nil
}

// feature is a tf.Feature. Its kind is the number of the list's field: the first value decides.
type feature struct {
	name string
	kind protowire.Number
	list []byte // bytes: the field as serialized; numbers: packed
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

// add adds the value at c and moves behind it.
func (f *feature) add(c *cursor) error {
	switch _, b64 := c.base64(); {
	case c.isString() || b64:
		if err := f.want(kindBytes); err != nil {
			return err
		}
		content := unquote(c.text())
		if b64 {
			var err error
			if content, err = c.decodeBase64(); err != nil {
				return err
			}
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

// number adds an integer, or a float32 where the number has a fraction or an exponent or does not fit 64 bits.
func (f *feature) number(c *cursor) error {
	x, end, ok := readDecimal(c.d.b, c.p)
	if ok && x.integer {
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

func (f *feature) want(k protowire.Number) error {
	if f.kind == kindUnset {
		f.kind = k
	}
	if f.kind != k {
		return invalid("Unexpected element type in feature: %s expecting type: %s", f.name, kindNames[f.kind])
	}
	return nil
}

// serialize returns the tf.Feature.
func (f *feature) serialize() []byte {
	if f.kind == kindUnset {
		return nil
	}
	list := f.list
	if f.kind != kindBytes {
		list = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), f.list)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, f.kind, protowire.BytesType), list)
}
