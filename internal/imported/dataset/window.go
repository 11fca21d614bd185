package dataset

import (
	"context"
	"fmt"
	"io"
)

// Window is the Dataset of windows of elements, as datasets: size elements, stride apart, beginning at every shift-th element. Windows
// at the end have fewer elements, unless whole is set. Each component of a window is a Dataset of its own.
func Window(in Dataset, size, shift, stride int64, whole bool) (Dataset, error) {
	for name, n := range map[string]int64{"size": size, "shift": shift, "stride": stride} {
		if n <= 0 {
			return nil, fmt.Errorf("Window %s must be greater than zero.", name)
		}
	}
	if size-1 > (1<<40)/stride {
		return nil, fmt.Errorf("%w: a window over %d elements of stride %d", ErrLimit, size, stride)
	}
	return &window{in, size, shift, stride, whole}, nil
}

type window struct {
	in                  Dataset
	size, shift, stride int64
	whole               bool
}

// span is the number of elements that a window spans.
func (w *window) span() int64 { return (w.size-1)*w.stride + 1 }

func (w *window) Cardinality() int64 {
	n := w.in.Cardinality()
	switch {
	case n < 0:
		return n
	case w.whole && n < w.span():
		return 0
	case w.whole:
		return (n-w.span())/w.shift + 1
	}
	return n/w.shift + min(n%w.shift, 1)
}

func (w *window) Iterator(p *Pass) (Iterator, error) {
	in, err := p.begin(w.in)
	if err != nil {
		return nil, err
	}
	return &windows{window: w, p: p, in: in}, nil
}

// windows keeps the elements that this window and the next ones span.
type windows struct {
	*window
	p     *Pass
	in    Iterator
	kept  []Element
	skip  int64 // elements before the next window
	ended bool
}

func (w *windows) Next(ctx context.Context) (Element, error) {
	for !w.ended && int64(len(w.kept)) < w.span() {
		e, err := w.in.Next(ctx)
		if err == io.EOF {
			w.ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		if w.skip > 0 {
			w.skip--
			continue
		}
		if err := w.p.Room.take(e.bytes()); err != nil {
			return nil, err
		}
		w.kept = append(w.kept, e)
	}
	if len(w.kept) == 0 || w.whole && int64(len(w.kept)) < w.span() {
		return nil, io.EOF
	}
	var rows []Element
	for i := int64(0); i < min(w.span(), int64(len(w.kept))); i += w.stride {
		rows = append(rows, w.kept[i])
	}
	w.drop(w.shift)
	return columns(rows)
}

// drop drops the next n elements, including elements that have not come yet.
func (w *windows) drop(n int64) {
	have := min(n, int64(len(w.kept)))
	for _, e := range w.kept[:have] {
		w.p.Room.give(e.bytes())
	}
	clear(w.kept[:have])
	w.kept = w.kept[have:]
	w.skip += n - have
}

// columns returns the elements as a Dataset for each component.
func columns(rows []Element) (Element, error) {
	out := make(Element, len(rows[0]))
	for k := range out {
		column := make([]Element, len(rows))
		for i, r := range rows {
			if len(r) != len(out) {
				return nil, fmt.Errorf("elements have %d and %d components: expected as many", len(out), len(r))
			}
			column[i] = r[k : k+1]
		}
		out[k].Resource = elements(column)
	}
	return out, nil
}

// elements is the Dataset of elements that exist already.
func elements(all []Element) Dataset {
	return &ready{source{int64(len(all)), func(i int64) (Element, error) { return all[i], nil }}, all}
}

// ready is a Dataset that has its elements.
type ready struct {
	source
	all []Element
}

// MemoryBytes returns the bytes that the elements take.
func (r *ready) MemoryBytes() (n int) {
	for _, e := range r.all {
		n += e.bytes()
	}
	return n
}

func (w *windows) Close() {
	w.in.Close()
	w.drop(int64(len(w.kept)))
}
