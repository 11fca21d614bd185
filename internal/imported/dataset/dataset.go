package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// Value is one component of an element: a tensor, or something else (a Dataset, a list of tensors).
type Value struct {
	T        *tensor.Tensor
	Resource any
}

// Element is one item of a pass: one value or several. Elements are not changed.
type Element []Value

// bytes is the memory of an element.
func (e Element) bytes() int {
	n := elementHeader
	for _, v := range e {
		n += valueHeader
		if v.T != nil {
			n += v.T.MemoryBytes()
		}
		if r, ok := v.Resource.(interface{ MemoryBytes() int }); ok {
			n += r.MemoryBytes()
		}
	}
	return n
}

// Approximate memory of an element, and of each of its components besides the elements of its tensor.
const (
	elementHeader = 24
	valueHeader   = 128
)

// Dataset describes a sequence of elements. It is safe for concurrent use.
type Dataset interface {
	// Iterator begins a pass.
	Iterator(p *Pass) (Iterator, error)
	// Cardinality returns the number of elements, Infinite or Unknown.
	Cardinality() int64
}

// Cardinalities of datasets without a known number of elements.
const (
	Infinite int64 = -1
	Unknown  int64 = -2
)

// Iterator is a pass over the elements of a Dataset. It is not safe for concurrent use.
type Iterator interface {
	// Next returns the next element, or io.EOF after the last one. After any other error the pass continues.
	Next(ctx context.Context) (Element, error)
	// Close ends the pass.
	Close()
}

// Func is a function of a graph, which transformations call. It is safe for concurrent use.
type Func func(ctx context.Context, in Element) (Element, error)

// ErrRange is wrapped by a function's error to say that there are no more elements.
var ErrRange = errors.New("out of range")

// ErrDataLoss says that a file is damaged, or that an element would lose values.
var ErrDataLoss = errors.New("data loss")

// ErrPrecondition says that a dataset differs from what the graph states.
var ErrPrecondition = errors.New("failed precondition")

// iteratorFunc is an Iterator that needs no Close.
type iteratorFunc func(ctx context.Context) (Element, error)

func (f iteratorFunc) Next(ctx context.Context) (Element, error) { return f(ctx) }

func (iteratorFunc) Close() {}

// empty is the Iterator without elements.
var empty = iteratorFunc(func(context.Context) (Element, error) { return nil, io.EOF })

// follow is the Dataset of elements that next makes from the input's.
type follow struct {
	in   Dataset
	size func(n int64) int64                                     // of the input's known or infinite cardinality
	next func() func(context.Context, Iterator) (Element, error) // is called once per pass
}

func (f *follow) Cardinality() int64 {
	n := f.in.Cardinality()
	if f.size == nil || n == Unknown {
		return Unknown
	}
	return f.size(n)
}

func (f *follow) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(f.in)
	if err != nil {
		return nil, err
	}
	return &following{in, f.next()}, nil
}

type following struct {
	in   Iterator
	next func(context.Context, Iterator) (Element, error)
}

func (f *following) Next(ctx context.Context) (Element, error) { return f.next(ctx, f.in) }

func (f *following) Close() { f.in.Close() }

// same is the cardinality of a transformation that keeps the number of elements.
func same(n int64) int64 { return n }
