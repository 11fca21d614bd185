package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// model is the expected output of a Dataset of numbers: -1 stands for an error.
type model []int64

var errBad = errors.New("bad element")

// run returns the output of a pass, and how many bytes are kept after it.
func run(t *testing.T, d Dataset) model {
	t.Helper()
	p := &Pass{Room: NewRoom(1 << 20), Limit: 1 << 20}
	in, err := d.Iterator(p)
	if err != nil {
		t.Fatal(err)
	}
	var got model
	for len(got) < 1000 {
		e, err := in.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			if !errors.Is(err, errBad) {
				t.Fatal(err)
			}
			got = append(got, -1)
			continue
		}
		got = append(got, e[0].T.Int(0))
	}
	if _, err := in.Next(t.Context()); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	in.Close()
	if held := p.Room.Held(); held != 0 {
		t.Errorf("%d bytes are still kept", held)
	}
	return got
}

// plus adds n, and fails for multiples of 7.
func plus(n int64) Func {
	return func(_ context.Context, e Element) (Element, error) {
		v := e[0].T.Int(0)
		if v%7 == 0 && v > 0 {
			return nil, errBad
		}
		return Element{{T: tensor.Scalar(v + n)}}, nil
	}
}

func isOdd(_ context.Context, e Element) (Element, error) {
	return Element{{T: tensor.Scalar(e[0].T.Int(0)%2 == 1)}}, nil
}

// each applies f to the elements that are not errors.
func (m model) each(f func(v int64) model) (out model) {
	for _, v := range m {
		if v == -1 {
			out = append(out, -1)
			continue
		}
		out = append(out, f(v)...)
	}
	return out
}

// transformations are composed by TestModel, for datasets and for slices. n is 0 to 5.
var transformations = map[string]struct {
	d func(in Dataset, n int64) Dataset
	m func(in model, n int64) model
}{
	"take":     {Take, func(in model, n int64) model { return in.values(n, true) }},
	"skip":     {Skip, func(in model, n int64) model { return in.values(n, false) }},
	"repeat":   {Repeat, func(in model, n int64) model { return slices.Repeat(in, int(n)) }},
	"map":      {func(in Dataset, n int64) Dataset { return Map(in, plus(n), false) }, mapped},
	"parallel": {func(in Dataset, n int64) Dataset { return ParallelMap(in, plus(n), n, false) }, mapped},
	"prefetch": {Prefetch, func(in model, _ int64) model { return in }},
	"filter": {func(in Dataset, _ int64) Dataset { return Filter(in, isOdd) }, func(in model, _ int64) model {
		return in.each(func(v int64) model {
			if v%2 == 1 {
				return model{v}
			}
			return nil
		})
	}},
	"concatenate": {func(in Dataset, n int64) Dataset { return Concatenate(in, counting(n)) }, func(in model, n int64) model { return slices.Concat(in, upTo(n)) }},
	"ignore":      {func(in Dataset, _ int64) Dataset { return IgnoreErrors(in) }, func(in model, _ int64) model { return slices.DeleteFunc(slices.Clone(in), isError) }},
	"flat": {func(in Dataset, n int64) Dataset {
		return FlatMap(IgnoreErrors(in), func(_ context.Context, e Element) (Element, error) {
			return Element{{Resource: Take(Tensors(e), n)}}, nil
		})
	}, func(in model, n int64) model {
		if n == 0 {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(in), isError)
	}},
}

func isError(v int64) bool { return v == -1 }

func mapped(in model, n int64) model {
	return in.each(func(v int64) model {
		if v%7 == 0 && v > 0 {
			return model{-1}
		}
		return model{v + n}
	})
}

// values returns the first n elements, or the elements after them. Errors do not count.
func (m model) values(n int64, first bool) model {
	seen := int64(0)
	for i, v := range m {
		if seen == n {
			if first {
				return m[:i]
			}
			return m[i:]
		}
		if v != -1 {
			seen++
		}
	}
	if first {
		return m
	}
	return nil
}

func upTo(n int64) (m model) {
	for i := range n {
		m = append(m, i)
	}
	return m
}

func counting(n int64) Dataset {
	d, _ := Range(0, n, 1, tensor.Int64)
	return d
}

// TestModel: composed transformations give the same for datasets as for slices. Skip only comes before errors: it fails as often as its input.
func TestModel(t *testing.T) {
	names := make([]string, 0, len(transformations))
	for name := range transformations {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.Int64N(20)
		d, m, text := counting(n), upTo(n), fmt.Sprintf("range(%d)", n)
		for range 1 + r.IntN(6) {
			name, n := names[r.IntN(len(names))], r.Int64N(6)
			if name == "skip" && slices.ContainsFunc(m, isError) || len(m) > 200 {
				continue
			}
			d, m, text = transformations[name].d(d, n), transformations[name].m(m, n), fmt.Sprintf("%s.%s(%d)", text, name, n)
		}
		if got := run(t, d); !slices.Equal(got, m) {
			t.Errorf("%s: got %v, expected %v", text, got, m)
		}
		if c := d.Cardinality(); c >= 0 && !slices.ContainsFunc(m, isError) && c != int64(len(m)) {
			t.Errorf("%s: cardinality %d, expected %d", text, c, len(m))
		}
	}
}

// TestShuffleModel: a shuffled pass has all elements of each pass over the input, one pass after another, and none too early.
func TestShuffleModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, size, passes := 1+r.Int64N(20), 1+r.Int64N(25), 1+r.Int64N(4)
		d, err := Shuffle(counting(n), size, NewSeeds(int64(seed)+1, 3, true), passes)
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, d)
		if int64(len(got)) != n*passes {
			t.Fatalf("%d elements, size %d, %d passes: got %v", n, size, passes, got)
		}
		for p := range passes {
			pass := got[p*n : (p+1)*n]
			for i, v := range pass {
				if v > int64(i)+size-1 {
					t.Errorf("size %d: element %d came as number %d of %v", size, v, i, pass)
				}
			}
			if sorted := slices.Sorted(slices.Values(pass)); !slices.Equal(sorted, upTo(n)) {
				t.Errorf("pass %d is %v", p, pass)
			}
		}
	}
}

// TestRebatch: batches of any sizes hold the same rows.
func TestRebatch(t *testing.T) {
	for n := range int64(9) {
		for size := int64(1); size < 5; size++ {
			for next := int64(1); next < 5; next++ {
				d, err := Batch(counting(n), size, false)
				if err != nil {
					t.Fatal(err)
				}
				if d, err = Rebatch(d, []int64{next, 2}, false); err != nil {
					t.Fatal(err)
				}
				if got := run(t, Unbatch(d)); !slices.Equal(got, upTo(n)) {
					t.Errorf("%d elements in batches of %d, then of %d and 2: got %v", n, size, next, got)
				}
			}
		}
	}
}
