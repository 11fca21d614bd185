package dataset

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// endless are datasets whose first element never comes.
func endless(t *testing.T) map[string]Dataset {
	must := func(d Dataset, err error) Dataset {
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	none := Filter(counting(1), func(context.Context, Element) (Element, error) { return Element{{T: tensor.Scalar(false)}}, nil })
	rows := counting(math.MaxInt64).(*source).with(tensor.New(tensor.Int64, 0))
	forever := counting(math.MaxInt64)
	return map[string]Dataset{
		"skip":    Skip(forever, math.MaxInt64),
		"shard":   must(Shard(forever, math.MaxInt64, math.MaxInt64-1, false)),
		"unbatch": Unbatch(rows),
		"repeat":  Repeat(Repeat(none, math.MaxInt64), -1),
		"shuffle": must(Shuffle(none, 4, NewSeeds(1, 1, true), math.MaxInt64)),
		"filter":  Filter(forever, func(context.Context, Element) (Element, error) { return Element{{T: tensor.Scalar(false)}}, nil }),
		"choose":  Choose(forever.(*source).with(tensor.Scalar(int64(0))), []Dataset{Skip(forever, math.MaxInt64)}, true),
	}
}

// TestEndless: a pass that never yields ends with the step that asks, or, if it is prefetched, with the iterator.
func TestEndless(t *testing.T) {
	for name, d := range endless(t) {
		p := onePass()
		in, err := d.Iterator(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			ctx := &countdown{Context: t.Context(), left: 100}
			if _, err := in.Next(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: got %v", name, err)
			}
		}
		if s, ok := in.(*shuffling); ok && len(s.epochs) > 1 {
			t.Errorf("%s: %d passes without elements are kept", name, len(s.epochs))
		}
		in.Close()
		ahead, err := Prefetch(d, 1).Iterator(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ahead.Next(&countdown{Context: t.Context()}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: prefetched: got %v", name, err)
		}
		ahead.Close()
		if n := p.open.Load(); n != 0 {
			t.Errorf("%s: %d iterators are open", name, n)
		}
	}
}

// countdown is a context that ends after a number of checks.
type countdown struct {
	context.Context
	left int
}

// gone is a closed channel.
var gone = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func (*countdown) Done() <-chan struct{} { return gone }

// TestPassBounds: datasets nested too deep, and datasets that double at each level, are refused before they exhaust the stack or memory.
func TestPassBounds(t *testing.T) {
	deep, wide, turns := counting(1), counting(1), counting(1)
	for range maxDepth + 1 {
		deep = Take(deep, -1)
	}
	for range 40 {
		wide = Zip(wide, wide)
	}
	for range maxDepth {
		inner := turns
		turns = FlatMap(counting(1), func(context.Context, Element) (Element, error) { return Element{{Resource: inner}}, nil })
	}
	turns = Take(Take(turns, -1), -1)
	for name, d := range map[string]Dataset{"deep": deep, "wide": wide, "functions": turns} {
		p := onePass()
		in, err := d.Iterator(p)
		if err == nil {
			_, err = in.Next(t.Context())
			in.Close()
		}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v", name, err)
		}
		if n := p.open.Load(); n != 0 {
			t.Errorf("%s: %d iterators are open", name, n)
		}
	}
}

// TestPanics: a panic in the background becomes an error, as it does elsewhere.
func TestPanics(t *testing.T) {
	bad := func(context.Context, Element) (Element, error) { panic("bad function") }
	for name, d := range map[string]Dataset{"prefetch": Prefetch(Map(counting(1), bad, false), 1), "parallel map": ParallelMap(counting(1), bad, 2, false)} {
		in, err := d.Iterator(onePass())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Next(t.Context()); err == nil || err == io.EOF {
			t.Errorf("%s: got %v", name, err)
		}
		in.Close()
	}
	words := counting(1).(*source).with(&tensor.Tensor{DType: tensor.String, Shape: []int{}, Strings: [][]byte{[]byte("x")}})
	in, err := Choose(words, []Dataset{counting(1)}, false).Iterator(onePass())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Next(t.Context()); err == nil || err == io.EOF {
		t.Errorf("a selector of words: got %v", err)
	}
}

// TestCountsAll: elements without components, and windows of elements, take room in a buffer.
func TestCountsAll(t *testing.T) {
	nothing := &source{math.MaxInt64, func(int64) (Element, error) { return Element{}, nil }}
	windows, err := Window(counting(math.MaxInt64), 20, 20, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Dataset{"nothing": nothing, "windows": windows} {
		p := &Pass{Room: NewRoom(64 << 10), Limit: 1 << 10}
		all, err := Shuffle(d, Unknown, NewSeeds(1, 1, true), 1)
		if err != nil {
			t.Fatal(err)
		}
		in, err := all.Iterator(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Next(t.Context()); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v", name, err)
		}
		if s := in.(*shuffling); name == "windows" && s.kept > 64<<10/(20*valueHeader) {
			t.Errorf("%d windows of 20 elements are in 64 KiB", s.kept)
		}
		in.Close()
	}
}

// TestLostMemory: the elements of an unreachable cache take no room.
func TestLostMemory(t *testing.T) {
	p := onePass()
	func() {
		in, err := Cache(counting(3), &Memory{}).Iterator(p)
		for err == nil {
			_, err = in.Next(t.Context())
		}
		in.Close()
		if p.Room.Held() == 0 {
			t.Error("a cache takes no room")
		}
	}()
	for p.Room.Held() != 0 {
		runtime.GC()
		runtime.Gosched()
	}
}
