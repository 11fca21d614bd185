package feature

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// ExampleSpec says how to parse a feature from a tf.train.Example.
type ExampleSpec struct {
	Key     string
	DType   tensor.DType
	VarLen  bool      // VarLenFeature; otherwise FixedLenFeature
	Shape   []int     // of this shape
	Default []float32 // and this default, one number for each; nil: the feature is required
	// Optional, for strings and integers of FixedLen, parses an absent feature
	// as "" or -1, which mean no value.
	Optional bool
	// Missing, for FixedLen of any type, is the value of an absent feature: the
	// default of the data's column, as string, float32 or int64. It takes precedence over Default and Optional.
	Missing *tensor.Tensor
}

// WithDefault returns the spec of a feature that is column c of the data: of fixed length, with c's default if
// the feature is absent, as in training.
func (e ExampleSpec) WithDefault(c inputs.Column) ExampleSpec {
	if e.VarLen {
		e.VarLen, e.Shape = false, c.Shape
	}
	t := e.Type()
	e.Missing = tensor.New(t, e.Shape...)
	for i := range e.Missing.Len() {
		switch t {
		case tensor.String:
			e.Missing.Strings[i] = c.Default.Strings[i]
		case tensor.Float32:
			tensor.Values[float32](e.Missing)[i] = float32(c.Default.Float(i))
		default:
			tensor.Values[int64](e.Missing)[i] = c.Default.Int(i)
		}
	}
	return e
}

// Type is the type of the parsed feature: string, float32 or int64; Invalid if examples cannot hold it.
func (e ExampleSpec) Type() tensor.DType {
	switch {
	case e.DType == tensor.String:
		return tensor.String
	case e.DType == tensor.Float32 || e.DType == tensor.Float64:
		return tensor.Float32
	case isInteger(e.DType):
		return tensor.Int64
	}
	return tensor.Invalid
}

// String is like VarLenFeature(string) or FixedLenFeature([1], float32).
func (e ExampleSpec) String() string {
	if e.VarLen {
		return fmt.Sprintf("VarLenFeature(%s)", e.DType)
	}
	if e.Missing != nil {
		return fmt.Sprintf("FixedLenFeature(%v, %s, default %s)", e.Shape, e.DType, elements(e.Missing))
	}
	if e.Optional {
		return fmt.Sprintf("FixedLenFeature(%v, %s, optional)", e.Shape, e.DType)
	}
	if e.Default != nil {
		return fmt.Sprintf("FixedLenFeature(%v, %s, default %v)", e.Shape, e.DType, e.Default)
	}
	return fmt.Sprintf("FixedLenFeature(%v, %s)", e.Shape, e.DType)
}

// elements lists a tensor's elements for a message.
func elements(t *tensor.Tensor) string {
	if t.DType == tensor.String {
		return fmt.Sprintf("%q", t.Strings)
	}
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.Float(i)
	}
	return fmt.Sprint(out)
}

// ExampleSpecs is make_parse_example_spec of all columns, sorted by key. The error
// names a feature that columns want to parse in different ways.
func (p *Plan) ExampleSpecs() ([]ExampleSpec, error) {
	known := map[string]ExampleSpec{}
	var out []ExampleSpec
	var reads, yielding []read
	for _, r := range p.reads {
		if r.yields {
			yielding = append(yielding, r)
		} else {
			reads = append(reads, r)
		}
	}
	for _, r := range append(reads, yielding...) {
		e, ok := known[r.key]
		if ok && r.yields {
			r.spec.Default = e.Default
		}
		switch {
		case !ok:
			known[r.key], out = r.spec, append(out, r.spec)
		case !reflect.DeepEqual(e, r.spec):
			return nil, fmt.Errorf("feature %q is parsed as %v by one column and as %v by another: make them agree, or give one of them a feature of its own", r.key, e, r.spec)
		}
	}
	slices.SortFunc(out, func(a, b ExampleSpec) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}
