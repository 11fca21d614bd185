package eager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/tensor"
)

// iteratorOps make iterators and take elements from them. They may wait: they end with the context of their run.
var iteratorOps = map[*ops.Def]maker{
	ops.Iterator:                   sharedIterator,
	ops.IteratorV2:                 sharedIterator,
	ops.OneShotIterator:            oneShotIterator,
	ops.AnonymousIterator:          anonymousIterator,
	ops.AnonymousIteratorV2:        anonymousIterator,
	ops.AnonymousIteratorV3:        anonymousIterator,
	ops.MakeIterator:               plain(makeIterator),
	ops.IteratorGetNext:            iteratorGetNext,
	ops.IteratorGetNextSync:        iteratorGetNext,
	ops.IteratorGetNextAsOptional:  plain(getNextAsOptional),
	ops.IteratorToStringHandle:     plain(iteratorToString),
	ops.IteratorFromStringHandle:   iteratorFromString,
	ops.IteratorFromStringHandleV2: iteratorFromString,
	ops.DeleteIterator:             plain(deleteIterator),
	ops.OptionalNone: plain(func(c call) error {
		c.out[0].Resource = &optional{}
		return nil
	}),
	ops.OptionalFromValue: plain(func(c call) error {
		return c.setOptional(toElement(c.in))
	}),
	ops.OptionalHasValue:       plain(optionalHasValue),
	ops.OptionalGetValue:       optionalGetValue,
	ops.ReduceDataset:          reduceDataset,
	ops.DatasetToSingleElement: singleElement,
	ops.DatasetCardinality:     plain(cardinality),
	ops.GetOptions:             plain(datasetOptions),
}

// iterator is an iterator of a graph.
type iterator struct {
	*dataset.Handle
	types componentTypes
}

// componentTypes has the types of an element's components.
type componentTypes []tensor.DType

// optional is an element, or nothing.
type optional struct {
	has   bool
	e     dataset.Element
	bytes int // memory of the element
	depth int // nesting depth of lists and optionals
}

// setOptional sets output 0 to an element.
func (c call) setOptional(e dataset.Element) error {
	o := &optional{has: true, e: e, bytes: tensorHeader}
	for _, v := range e {
		o.bytes += listHeader + weight(Value(v))
		o.depth = max(o.depth, 1+depth(Value(v)))
	}
	c.out[0] = Value{Resource: o}
	return tooDeep(o.depth)
}

// errEnd ends a loop over a dataset.
type errEnd struct{}

func (errEnd) Error() string { return "End of sequence" }

// Is makes the error match ErrRange, which has a status of its own.
func (errEnd) Is(target error) bool { return target == ErrRange }

func outputTypes(s *site) []tensor.DType { return list[tensor.DType](s, "output_types") }

// sharedIterator finds or creates an iterator that steps share.
func sharedIterator(s *site) (kernel, error) {
	types, at := outputTypes(s), s.place()
	return func(c call) error {
		it, err := c.iterator(at, types)
		c.out[0].Resource = it
		return err
	}, nil
}

// iterator returns the iterator at a place.
func (c call) iterator(at place, types []tensor.DType) (*iterator, error) {
	if c.env == nil || c.env.Resources == nil {
		return nil, errInputs
	}
	found := c.env.Resources.lasting(c.env, at, func() lasting { return &iterator{dataset.NewHandle(), types} })
	it, ok := found.(*iterator)
	if !ok {
		return nil, fmt.Errorf("expected an iterator as resource %q, got %T", at.name, found)
	}
	return it, it.types.fit(types)
}

// fit fails if other types are expected. No types mean any.
func (own componentTypes) fit(types []tensor.DType) error {
	if len(types) == 0 {
		return nil
	}
	if len(types) != len(own) {
		return fmt.Errorf("Number of components does not match: expected %d types but got %d.", len(types), len(own))
	}
	for i, d := range types {
		if d != own[i] {
			return fmt.Errorf("Data type mismatch at component %d: expected %v but got %v.", i, d, own[i])
		}
	}
	return nil
}

// oneShotIterator makes an iterator over a function's dataset when it is first used.
func oneShotIterator(s *site) (kernel, error) {
	types, at, factory := outputTypes(s), s.place(), s.function("dataset_factory")
	return func(c call) error {
		it, err := c.iterator(at, types)
		if err != nil {
			return err
		}
		c.out[0].Resource = it
		pass, err := c.pass()
		if err != nil {
			return err
		}
		return it.Begin(c.ctx, pass, func() (dataset.Dataset, error) {
			in := &inputs{c: c, l: layout{"": {}}}
			f := in.function(factory, "")
			if in.err != nil {
				return nil, in.err
			}
			e, err := f(c.ctx, nil)
			if err != nil {
				return nil, err
			}
			if len(e) == 1 {
				if d, ok := e[0].Resource.(dataset.Dataset); ok {
					return d, nil
				}
			}
			return nil, fmt.Errorf("The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.")
		})
	}, nil
}

func anonymousIterator(s *site) (kernel, error) {
	types := outputTypes(s)
	return func(c call) error {
		c.out[0].Resource = &iterator{dataset.NewHandle(), types}
		if len(c.out) > 1 {
			c.out[1].Resource = deleter{}
		}
		return nil
	}, nil
}

// iteratorAt returns the iterator in input i.
func (c call) iteratorAt(i int) (*iterator, error) {
	if i < len(c.in) {
		if it, ok := c.in[i].Resource.(*iterator); ok {
			return it, nil
		}
	}
	return nil, fmt.Errorf("input %d: expected an iterator", i)
}

// datasetAt returns the dataset in input i.
func (c call) datasetAt(i int) (dataset.Dataset, error) {
	if i < len(c.in) {
		if d, ok := c.in[i].Resource.(dataset.Dataset); ok {
			return d, nil
		}
	}
	return nil, fmt.Errorf("input %d: expected a dataset", i)
}

func makeIterator(c call) error {
	d, err := c.datasetAt(0)
	if err != nil {
		return err
	}
	it, err := c.iteratorAt(1)
	if err != nil {
		return err
	}
	pass, err := c.pass()
	if err != nil {
		return err
	}
	return it.Set(c.ctx, d, pass)
}

func deleteIterator(c call) error {
	it, err := c.iteratorAt(0)
	if err != nil {
		return err
	}
	if c.env != nil && c.env.Resources != nil {
		c.env.Resources.unname(weakly(it))
	}
	it.Close()
	return nil
}

func iteratorGetNext(s *site) (kernel, error) {
	types := outputTypes(s)
	s.outputs = len(types)
	return func(c call) error {
		it, err := c.iteratorAt(0)
		if err != nil {
			return err
		}
		e, err := it.Next(c.ctx)
		if err == io.EOF {
			return errEnd{}
		}
		if err != nil {
			return err
		}
		return c.setElement(e, types)
	}, nil
}

func getNextAsOptional(c call) error {
	it, err := c.iteratorAt(0)
	if err != nil {
		return err
	}
	e, err := it.Next(c.ctx)
	if err != nil && err != io.EOF {
		return err
	}
	if err == io.EOF {
		c.out[0].Resource = &optional{}
		return nil
	}
	return c.setOptional(e)
}

func optionalHasValue(c call) error {
	o, ok := c.in[0].Resource.(*optional)
	if !ok {
		return fmt.Errorf("expected an optional, got %T", c.in[0].Resource)
	}
	c.set(0, tensor.Scalar(o.has))
	return nil
}

func optionalGetValue(s *site) (kernel, error) {
	types := outputTypes(s)
	s.outputs = len(types)
	return func(c call) error {
		o, ok := c.in[0].Resource.(*optional)
		if !ok {
			return fmt.Errorf("expected an optional, got %T", c.in[0].Resource)
		}
		if !o.has {
			return errors.New("The given optional does not have a value.")
		}
		return c.setElement(o.e, types)
	}, nil
}

// overAll begins a pass of this run over the dataset in input 0.
func (c call) overAll() (dataset.Iterator, error) {
	d, err := c.datasetAt(0)
	if err != nil {
		return nil, err
	}
	pass, err := c.pass()
	if err != nil {
		return nil, err
	}
	return d.Iterator(pass)
}

func reduceDataset(s *site) (kernel, error) {
	types, l, f := outputTypes(s), s.layout(), s.function("f")
	s.outputs = len(types)
	return func(c call) error {
		in := &inputs{c: c, l: l}
		state, call := in.element("initial_state"), in.function(f, others)
		if in.err != nil {
			return in.err
		}
		it, err := c.overAll()
		if err != nil {
			return err
		}
		defer it.Close()
		before := c.env.mark()
		e, err := dataset.Reduce(c.ctx, it, state, func(ctx context.Context, e dataset.Element) (dataset.Element, error) {
			next, err := call(ctx, e)
			c.env.drop(before, fromElement(next)) // earlier elements are garbage
			return next, err
		})
		if err != nil {
			return err
		}
		return c.setElement(e, types)
	}, nil
}

func singleElement(s *site) (kernel, error) {
	types := outputTypes(s)
	s.outputs = len(types)
	return func(c call) error {
		it, err := c.overAll()
		if err != nil {
			return err
		}
		defer it.Close()
		e, err := it.Next(c.ctx)
		if err == io.EOF {
			return errors.New("Dataset was empty.")
		}
		if err != nil {
			return err
		}
		switch _, err := it.Next(c.ctx); err {
		case io.EOF:
			return c.setElement(e, types)
		case nil:
			return errors.New("Dataset had more than one element.")
		default:
			return err
		}
	}, nil
}

func cardinality(c call) error {
	d, err := c.datasetAt(0)
	if err != nil {
		return err
	}
	c.set(0, tensor.Scalar(d.Cardinality()))
	return nil
}

// datasetOptions returns no options: they say how a pass is computed, and are not kept.
func datasetOptions(c call) error {
	if _, err := c.datasetAt(0); err != nil {
		return err
	}
	c.set(0, textScalar(""))
	return nil
}

// iteratorToString returns a string handle that finds an iterator in later steps.
func iteratorToString(c call) error {
	it, err := c.iteratorAt(0)
	if err != nil {
		return err
	}
	if c.env == nil || c.env.Resources == nil {
		return errInputs
	}
	c.set(0, textScalar(handlePrefix+nameOf(c.env.Resources, it)))
	return nil
}

// handlePrefix begins the string handles of iterators.
const handlePrefix = "iterator"

// handled finds the resource of a string handle, which op must have made on this device.
func handled[T any](c call, prefix, what, op string) (it *T, err error) {
	b, err := text("string_handle", c.t(0))
	if err != nil {
		return it, err
	}
	if c.env == nil || c.env.Resources == nil {
		return it, errInputs
	}
	name, ok := strings.CutPrefix(string(b), prefix)
	if it = named[T](c.env.Resources, name); !ok || it == nil {
		return it, fmt.Errorf("%w: no %s has the handle %q on this device: expected what %s gave here", fs.ErrNotExist, what, clip(b), op)
	}
	return it, nil
}

func iteratorFromString(s *site) (kernel, error) {
	types := outputTypes(s)
	return func(c call) error {
		it, err := handled[iterator](c, handlePrefix, "iterator", "IteratorToStringHandle")
		if err != nil {
			return err
		}
		c.out[0].Resource = it
		return it.types.fit(types)
	}, nil
}
