package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// layout has the range of a node's inputs for each input of the op's definition: attributes give the sizes of lists.
type layout map[string]inputRange

// inputRange is the range of a node's inputs for one input of the definition.
type inputRange struct{ from, to int }

func (s *site) layout() layout {
	l, at := layout{}, 0
	for _, a := range ops.Find(s.node.Op).Inputs() {
		n := 1
		switch {
		case a.List:
			n = len(list[tensor.DType](s, a.TypeAttr))
		case a.Count != "":
			n = s.count(a.Count, 0, 1<<16)
		}
		l[a.Name] = inputRange{at, at + n}
		at += n
	}
	return l
}

// inputs gives access to a call's inputs by name. It keeps the first invalid input as an error, so that makers need not check each.
type inputs struct {
	c   call
	l   layout
	err error
}

func (in *inputs) fail(format string, args ...any) {
	if in.err == nil {
		in.err = fmt.Errorf(format, args...)
	}
}

// values returns the tensors of an input that is a list.
func (in *inputs) values(name string) []Value {
	at, ok := in.l[name]
	if !ok || at.to > len(in.c.in) {
		in.fail("%s: expected inputs %d to %d of %d", name, at.from, at.to, len(in.c.in))
		return nil
	}
	return in.c.in[at.from:at.to]
}

// tensor returns an input, or an empty tensor if there is none.
func (in *inputs) tensor(name string) *tensor.Tensor {
	v := in.values(name)
	if len(v) == 1 && v[0].T != nil {
		return v[0].T
	}
	in.fail("%s: expected a tensor", name)
	return tensor.New(tensor.Invalid, 0)
}

// has reports whether the op has such an input.
func (in *inputs) has(name string) bool {
	_, ok := in.l[name]
	return ok
}

// int returns an integer scalar.
func (in *inputs) int(name string) int64 {
	n, err := integer(name, in.tensor(name))
	if err != nil {
		in.fail("%w", err)
	}
	return int64(n)
}

// truth returns a boolean scalar, or false if the op has no such input.
func (in *inputs) truth(name string) bool {
	if !in.has(name) {
		return false
	}
	t := in.tensor(name)
	if t.DType != tensor.Bool || len(t.Bytes) != 1 {
		in.fail("%s: expected one boolean", name)
		return false
	}
	return t.Bytes[0] != 0
}

// text returns a string scalar, or "" if the op has no such input.
func (in *inputs) text(name string) string {
	if !in.has(name) {
		return ""
	}
	b, err := text(name, in.tensor(name))
	if err != nil {
		in.fail("%w", err)
	}
	return string(b)
}

// texts returns a string scalar or vector.
func (in *inputs) texts(name string) []string {
	t := in.tensor(name)
	if t.DType != tensor.String || len(t.Shape) > 1 {
		in.fail("`%s` must be a scalar or a vector.", name)
		return nil
	}
	all := make([]string, len(t.Strings))
	for i, s := range t.Strings {
		all[i] = string(s)
	}
	return all
}

// ints returns an integer vector.
func (in *inputs) ints(name string) []int {
	v, err := in.c.vector(name, in.tensor(name))
	if err != nil {
		in.fail("%w", err)
	}
	return v
}

// dataset returns a dataset.
func (in *inputs) dataset(name string) dataset.Dataset {
	all := in.datasets(name)
	if len(all) != 1 {
		in.fail("%s: expected one dataset, got %d", name, len(all))
		return dataset.Tensors(nil)
	}
	return all[0]
}

// datasets returns an input that is a list of datasets.
func (in *inputs) datasets(name string) []dataset.Dataset {
	var all []dataset.Dataset
	for _, v := range in.values(name) {
		d, ok := v.Resource.(dataset.Dataset)
		if !ok {
			in.fail("%s: expected a dataset, got %T", name, v.Resource)
			return nil
		}
		all = append(all, d)
	}
	return all
}

// element returns a list input as an element of a dataset.
func (in *inputs) element(name string) dataset.Element { return toElement(in.values(name)) }

func toElement(values []Value) dataset.Element {
	e := make(dataset.Element, len(values))
	for i, v := range values {
		e[i] = dataset.Value(v)
	}
	return e
}

func fromElement(e dataset.Element) []Value {
	values := make([]Value, len(e))
	for i, v := range e {
		values[i] = Value(v)
	}
	return values
}

// setElement sets the outputs to the components of an element. Their types must be the ones that the node states.
func (c call) setElement(e dataset.Element, types []tensor.DType) error {
	if len(e) != len(types) || len(e) != len(c.out) {
		return fmt.Errorf("Number of components does not match: expected %d types but got %d.", len(types), len(e))
	}
	for i, v := range e {
		got := tensor.Variant
		if v.T != nil {
			got = v.T.DType
		}
		if got != types[i] && types[i] != tensor.Resource && !(got == tensor.String && types[i] == tensor.Variant) { // for variants, see parseDataset
			return fmt.Errorf("Data type mismatch at component %d: expected %v but got %v.", i, types[i], got)
		}
		c.out[i] = Value(v)
	}
	return nil
}

// errInputs says that a run has no Resources, which datasets need.
var errInputs = errors.New("datasets need Env.Resources")

// pass returns what the passes over datasets in a run share.
func (c call) pass() (*dataset.Pass, error) {
	if c.env == nil || c.env.Resources == nil {
		return nil, errInputs
	}
	if c.env.Room != nil {
		return &dataset.Pass{Room: c.env.Room, Limit: c.recordLimit(), Alone: true}, nil
	}
	return &dataset.Pass{Room: c.env.Resources.things.room, Limit: c.recordLimit(), Pay: c.env.Payer.payFor}, nil
}
