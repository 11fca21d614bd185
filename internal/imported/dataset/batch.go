package dataset

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Batch is the Dataset of batches of size elements, stacked. The last batch may have fewer, unless whole is set.
func Batch(in Dataset, size int64, whole bool) (Dataset, error) {
	return batches(in, size, whole, stack)
}

// batches is the Dataset of groups of size elements, combined by join.
func batches(in Dataset, size int64, whole bool, join func(p *Pass, rows []Element) (Element, error)) (Dataset, error) {
	if size <= 0 {
		return nil, fmt.Errorf("Batch size must be greater than zero.")
	}
	return &batch{in, size, whole, join}, nil
}

type batch struct {
	in    Dataset
	size  int64
	whole bool
	join  func(p *Pass, rows []Element) (Element, error)
}

func (b *batch) Cardinality() int64 {
	n := b.in.Cardinality()
	switch {
	case n < 0:
		return n
	case b.whole:
		return n / b.size
	}
	return n/b.size + min(n%b.size, 1)
}

func (b *batch) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(b.in)
	if err != nil {
		return nil, err
	}
	return &batching{batch: b, p: p, in: in}, nil
}

type batching struct {
	*batch
	p     *Pass
	in    Iterator
	ended bool
}

func (b *batching) Next(ctx context.Context) (Element, error) {
	var rows []Element
	held := 0
	defer func() { b.p.Room.give(held) }()
	for !b.ended && int64(len(rows)) < b.size {
		e, err := b.in.Next(ctx)
		if err == io.EOF {
			b.ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		n := e.bytes()
		if err := b.p.Room.take(n); err != nil {
			return nil, err
		}
		held += n
		rows = append(rows, e)
	}
	if len(rows) == 0 || b.whole && int64(len(rows)) < b.size {
		return nil, io.EOF
	}
	return b.join(b.p, rows)
}

func (b *batching) Close() { b.in.Close() }

// stack stacks elements, whose components have equal shapes, into one.
func stack(p *Pass, rows []Element) (Element, error) {
	out := make(Element, len(rows[0]))
	for k := range out {
		if all, ok := rows[0][k].Resource.(Stacker); ok {
			var err error
			if out[k].Resource, err = stackOthers(p, all, rows, k); err != nil {
				return nil, fmt.Errorf("component %d: %w", k, err)
			}
			continue
		}
		first := rows[0][k].T
		for i, r := range rows {
			t := r.component(k)
			switch {
			case first == nil || t == nil:
				return nil, fmt.Errorf("component %d: expected tensors, which can be batched", k)
			case t.DType != first.DType:
				return nil, fmt.Errorf("component %d: element 0 is of type %v, element %d of type %v", k, first.DType, i, t.DType)
			case !slices.Equal(t.Shape, first.Shape):
				return nil, fmt.Errorf("Cannot batch tensors with different shapes in component %d. First element had shape %s and element %d had shape %s.", k, shapeText(first.Shape), i, shapeText(t.Shape))
			}
		}
		shape := slices.Concat([]int{len(rows)}, first.Shape)
		all, err := p.tensor(first.DType, shape)
		if err != nil {
			return nil, err
		}
		n := first.Len()
		for i, r := range rows {
			put(all, i*n, r[k].T, 0, n)
		}
		out[k].T = all
	}
	return out, nil
}

// Stacker is a value other than a tensor that can be batched.
type Stacker interface {
	// Stack combines several values, the first of which is the receiver, into one.
	Stack(all []any) (any, error)
}

// stackOthers stacks component k of the rows, which is not a tensor.
func stackOthers(p *Pass, first Stacker, rows []Element, k int) (any, error) {
	if err := p.Room.take(len(rows) * valueHeader); err != nil {
		return nil, err
	}
	defer p.Room.give(len(rows) * valueHeader)
	all := make([]any, len(rows))
	for i, r := range rows {
		if k < len(r) {
			all[i] = r[k].Resource
		}
	}
	return first.Stack(all)
}

// component returns component k if it is a tensor, or nil.
func (e Element) component(k int) *tensor.Tensor {
	if k >= len(e) {
		return nil
	}
	return e[k].T
}

// tensor makes a tensor if it may be that large. Its memory is the caller's affair.
func (p *Pass) tensor(d tensor.DType, shape []int) (*tensor.Tensor, error) {
	if err := p.fits(d, shape); err != nil {
		return nil, err
	}
	size := max(d.Size(), 1)
	if d == tensor.String {
		size = tensor.StringHeader
	}
	n := size * tensor.NumElements(shape)
	if err := p.Room.take(n); err != nil {
		return nil, err
	}
	defer p.Room.give(n)
	return tensor.New(d, shape...), nil
}

// fits fails if a tensor would be larger than allowed. Its shape may come from an untrusted client.
func (p *Pass) fits(d tensor.DType, shape []int) error {
	size := max(d.Size(), 1)
	if d == tensor.String {
		size = tensor.StringHeader
	}
	n := size
	for _, dim := range shape {
		if dim < 0 {
			return fmt.Errorf("shape %v: expected no negative dimension", shape)
		}
		if dim > 0 && n > p.Limit/dim {
			return fmt.Errorf("%w: a tensor of type %v and shape %v, the limit is %d bytes", ErrLimit, d, shape, p.Limit)
		}
		n *= max(dim, 1)
	}
	return nil
}

// put copies n elements of src, from index i, to dst, from index j.
func put(dst *tensor.Tensor, j int, src *tensor.Tensor, i, n int) {
	if src.DType == tensor.String {
		copy(dst.Strings[j:j+n], src.Strings[i:i+n])
		return
	}
	size := src.DType.Size()
	copy(dst.Bytes[j*size:(j+n)*size], src.Bytes[i*size:(i+n)*size])
}

// shapeText is a shape as TensorFlow writes it.
func shapeText(shape []int) string {
	s := "["
	for i, d := range shape {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(d)
	}
	return s + "]"
}

// Unbatch is the Dataset of the rows of the elements.
func Unbatch(in Dataset) Dataset {
	return &follow{in, nil, func() func(context.Context, Iterator) (Element, error) {
		var rows Element
		at, n := 0, 0
		return func(ctx context.Context, in Iterator) (Element, error) {
			for at == n {
				e, err := in.Next(ctx)
				if err != nil {
					return nil, err
				}
				have, err := commonRows(e)
				if err != nil {
					return nil, err
				}
				rows, at, n = e, 0, have
			}
			at++
			return row(rows, at-1), nil
		}
	}}
}

// Rebatch is the Dataset of the elements' rows in batches of the given sizes, in turn.
func Rebatch(in Dataset, sizes []int64, whole bool) (Dataset, error) {
	if len(sizes) == 0 {
		return nil, fmt.Errorf("batch_sizes must be a scalar or a vector that is not empty")
	}
	for _, n := range sizes {
		if n <= 0 {
			return nil, fmt.Errorf("batch_sizes: expected positive sizes, got %d", n)
		}
	}
	return &rebatch{Unbatch(in), sizes, whole}, nil
}

type rebatch struct {
	in    Dataset
	sizes []int64
	whole bool
}

func (r *rebatch) Cardinality() int64 { return Unknown }

func (r *rebatch) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(r.in)
	if err != nil {
		return nil, err
	}
	i := 0
	next := &batching{batch: &batch{in: r.in, whole: r.whole, join: stack}, p: p, in: in}
	return &following{next, func(ctx context.Context, _ Iterator) (Element, error) {
		next.size = r.sizes[i%len(r.sizes)]
		i++
		return next.Next(ctx)
	}}, nil
}
