package session

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const mib = 1 << 20

// asked is a request of that many bytes, with its account.
func asked(t *testing.T, bytes int) (context.Context, *budget.Account) {
	t.Helper()
	server := budget.NewServer(budget.Limits{Server: 1 << 30})
	a := server.Open()
	a.Received(bytes)
	t.Cleanup(func() {
		a.Close()
		if server.Used() != 0 {
			t.Errorf("%d bytes are still counted", server.Used())
		}
		server.Close()
	})
	return budget.With(t.Context(), a), a
}

// check runs y of the feed x, and checks that afterwards only the answer is held.
func check(t *testing.T, what string, s *Session, x *tensor.Tensor, received int, refused bool) {
	t.Helper()
	ctx, a := asked(t, received)
	out, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": x}, []string{"y:0"})
	if !refused {
		if err != nil || a.Held() != int64(out[0].MemoryBytes()) {
			t.Errorf("%s: %v, %d bytes are held", what, err, a.Held())
		}
		return
	}
	if over := a.Refused(); err == nil || over == nil || over.Server || a.Held() != 0 {
		t.Errorf("%s: expected to be refused, got %v, %v, %d bytes are held", what, err, over, a.Held())
	}
}

func vector(v int32) *tensor.Tensor {
	t := tensor.New(tensor.Int32, 1)
	tensor.Values[int32](t)[0] = v
	return t
}

// TestValuesThatSaySizes: memory that grows with the values of a request is bounded by the request's limit.
func TestValuesThatSaySizes(t *testing.T) {
	testkit.NotConcurrent(t)
	open := graph.Type{DType: tensor.Float32, Shape: graph.Shape{UnknownRank: true}}
	ints := graph.Type{DType: tensor.Int32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	typ := func(d tensor.DType) graph.Attrs {
		return graph.Attrs{"T": d, "Tidx": tensor.Int32, "Tmultiples": tensor.Int32, "index_type": tensor.Int32}
	}
	for name, build := range map[string]func(b *graph.Builder, x graph.Output) graph.Output{
		"Fill": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("Fill", "y", open, typ(tensor.Float32), x, b.Const("one", tensor.Scalar(float32(1))))
		},
		"Tile": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("Tile", "y", open, typ(tensor.Float32), b.Const("some", ramp(1)), x)
		},
		"BroadcastTo": func(b *graph.Builder, x graph.Output) graph.Output {
			return b.Op("BroadcastTo", "y", open, typ(tensor.Float32), b.Const("some", ramp(1)), x)
		},
	} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", ints)
		s := sessionOf(t, b, map[string]graph.Output{"x": x}, build(b, x))
		for _, c := range []struct {
			elements int32
			received int
			refused  bool
		}{{1, 16, false}, {7 * mib, 16, false}, {9 * mib, 16, true}, {9 * mib, mib, false}, {200 * mib, mib, true}} {
			check(t, name, s, vector(c.elements), c.received, c.refused)
		}
	}
}

// TestRowsThatWereNotSent: memory that a model needs for rows is charged to the model if they were sent, and to the request if
// a shape stands for them.
func TestRowsThatWereNotSent(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(1)}}})
	w := tensor.New(tensor.Float32, 1, 64)
	y := b.Op("MatMul", "y", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(64)}}},
		graph.Attrs{"T": tensor.Float32}, x, b.Const("w", w))
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	const rows = 1 << 18 // 64 MiB of results, twice
	for _, c := range []struct {
		what           string
		rows, received int
		refused        bool
	}{{"sent", rows, rowBytes * rows, false}, {"a byte less", rows, rowBytes*rows - 1, true}, {"not sent", rows, 16, true}, {"few", fewRows, 16, false}, {"fits", rows / 8, 16, false}} {
		check(t, c.what, s, tensor.New(tensor.Float32, c.rows, 1), c.received, c.refused)
	}
}

// TestPaddingWasNotSent: padding of a batch costs its requests nothing; the rows that they sent do.
func TestPaddingWasNotSent(t *testing.T) {
	testkit.NotConcurrent(t)
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Uint8, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(mib)}}})
	y := b.Op("Cast", "y", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(mib)}}},
		graph.Attrs{"SrcT": tensor.Uint8, "DstT": tensor.Float32}, x)
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	const rows, sent = 32, 8 // 128 MiB of results; the requests pay for 32 and 64 MiB
	for _, c := range []struct {
		what     string
		padded   int // number of rows
		received int
		refused  bool
	}{{"all sent", 0, rows * mib, false}, {"padded", rows - sent, sent * mib, false}, {"a byte less", rows - sent, sent*mib - 1, true}, {"not padded", 0, sent * mib, true}} {
		ctx, a := asked(t, c.received)
		a.Pad(c.padded, c.padded*mib)
		_, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Uint8, rows, mib)}, []string{"y:0"})
		if over := a.Refused(); (err != nil) != c.refused || (over != nil) != c.refused {
			t.Errorf("%s: %v, %v", c.what, err, over)
		}
	}
}

// TestFirstRunPaysOnce: the run that compiles a program needs no more memory than later runs.
func TestFirstRunPaysOnce(t *testing.T) {
	const rows = 1 << 20
	const size = 4 * rows // bytes of the program's memory, and of the answer
	for _, c := range []struct {
		limit int64
		fits  bool
	}{{2 * size, true}, {2*size - 1, false}} {
		s := negation(t, 1<<30)
		server := budget.NewServer(budget.Limits{Server: c.limit})
		for _, run := range []string{"first", "second"} {
			a := server.Open()
			a.Received(size)
			x := map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, rows, 1)}
			if _, err := s.Run(budget.With(t.Context(), a), x, []string{"y:0"}); (err == nil) != c.fits {
				t.Errorf("%s run, %d bytes: %v", run, c.limit, err)
			}
			a.Close()
		}
		if server.Used() != 0 {
			t.Errorf("%d bytes are still counted", server.Used())
		}
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSpareRows: a run is not refused because of room for rows that it does not have.
func TestSpareRows(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	rows := func(columns int) graph.Type {
		return graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(columns)}}}
	}
	x, float := b.Placeholder("x", rows(1)), graph.Attrs{"T": tensor.Float32}
	wide := b.Op("MatMul", "wide", rows(64), float, x, b.Const("w", tensor.New(tensor.Float32, 1, 64)))
	sums := b.Op("MatMul", "y", rows(1), float, wide, b.Const("v", tensor.New(tensor.Float32, 64, 1)))
	for _, c := range []struct {
		what           string
		s              *Session
		rows, capacity int
		refused        bool
	}{
		{"the answer is small", sessionOf(t, b, map[string]graph.Output{"x": x}, sums), 1<<16 + 1, 1<<16 + 1, false},
		{"too many", sessionOf(t, b, map[string]graph.Output{"x": x}, sums), 1 << 18, 1 << 10, true},
		{"the answer needs what is spare", negation(t, 1<<30), 1<<22 + 1, 1 << 23, false},
	} {
		c.s.options.Limit = 1 << 30
		check(t, c.what, c.s, tensor.New(tensor.Float32, 1<<10, 1), 16, false)
		check(t, c.what, c.s, tensor.New(tensor.Float32, c.rows, 1), 16, c.refused)
		if got := program(t, c.s).Capacity(); got != c.capacity {
			t.Errorf("%s: room for %d rows, expected %d", c.what, got, c.capacity)
		}
	}
}

// TestEmptyFeeds: a tensor without elements states no sizes that were not sent.
func TestEmptyFeeds(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}})
	y := b.Op("Sum", "y", graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}, graph.Attrs{"T": tensor.Float32}, x, b.Const("axis", tensor.Scalar(int32(1))))
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	empty := func(shape ...int) *tensor.Tensor {
		return &tensor.Tensor{DType: tensor.Float32, Shape: shape, Bytes: []byte{}}
	}
	for _, rows := range []int{1 << 40, maxEmpty + 1} {
		if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": empty(rows, 0)}, []string{"y:0"}); err == nil {
			t.Errorf("%d rows without elements are taken", rows)
		}
	}
	if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": empty(0, 1<<40)}, []string{"y:0"}); err == nil {
		t.Error("sums of 2^40 elements of no rows are taken")
	}
	check(t, "few", s, empty(1000, 0), 16, false)
	check(t, "many", s, empty(1<<24, 0), 16, true)
}

// TestWideBatch: no rows of 10^12 elements are allowed, as far as the work of the ops does not grow with the elements.
func TestWideBatch(t *testing.T) {
	matrix := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}}
	zero := tensor.Scalar(int32(0))
	for op, taken := range map[string]bool{"Neg": true, "Softmax": true, "Cumsum": false, "ReverseV2": false} {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", matrix)
		in, attrs := []graph.Output{x}, graph.Attrs{"T": tensor.Float32}
		if !taken {
			axis := zero
			if op == "ReverseV2" {
				axis = tensor.New(tensor.Int32, 1)
			}
			in, attrs["Tidx"] = append(in, b.Const("axis", axis)), tensor.Int32
		}
		s := sessionOf(t, b, map[string]graph.Output{"x": x}, b.Op(op, "y", matrix, attrs, in...))
		wide := []int{0, 1e12}
		y, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": {DType: tensor.Float32, Shape: wide, Bytes: []byte{}}}, []string{"y:0"})
		if taken && (err != nil || !slices.Equal(y[0].Shape, wide)) || !taken && status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, %v", op, y, err)
		}
	}
}

// TestCool: unused programs free the memory of large batches, and answer as before.
func TestCool(t *testing.T) {
	s := negation(t, 1<<30)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows := 2 * trimAbove / 4
	negate(t, s, rows, 1)
	if held := s.idle.Load(); held < 2*trimAbove {
		t.Fatalf("idle programs hold %d bytes", held)
	}
	all := func(before time.Time) (freed int64, warm bool) {
		for _, p := range s.plans {
			for _, ps := range programsOf([]*plan{p}) {
				f, w := ps.trim(before)
				freed, warm = freed+f, warm || w
			}
		}
		return freed, warm
	}
	if freed, warm := all(time.Now().Add(-time.Hour)); freed != 0 || !warm {
		t.Errorf("%d bytes of programs that were used are freed", freed)
	}
	if freed, warm := all(time.Now().Add(time.Hour)); freed < trimAbove || warm || s.idle.Load() > trimAbove {
		t.Errorf("%d bytes are freed, %d are held", freed, s.idle.Load())
	}
	negate(t, s, rows, 1)
	negate(t, s, 3, 1)
}

// TestCountedBy: a session knows the server that counts its requests' memory, if there is one.
func TestCountedBy(t *testing.T) {
	s := negation(t, 1<<30)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if negate(t, s, 1, 1); s.memory.Load() != nil {
		t.Error("somebody counts what no request takes")
	}
	ctx, a := asked(t, 16)
	for range 2 {
		if _, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 3, 1)}, []string{"y:0"}); err != nil || s.memory.Load() != a.Server() {
			t.Errorf("got %v", err)
		}
	}
}

// TestReleased: an idle program keeps nothing of its feeds, whatever its ops.
func TestReleased(t *testing.T) {
	batch := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(1)}}}
	float := graph.Attrs{"T": tensor.Float32}
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", batch)
	two := b.Const("two", tensor.Scalar(float32(2)))
	y := b.Op("AddV2", "sum", batch, float, b.Op("Mul", "product", batch, float, x, two), two) // a chain
	y = b.Op("AddV2", "mixed", batch, float, y, b.Op("MatMul", "matmul", batch, float, x, b.Const("w", tensor.New(tensor.Float32, 1, 1))))
	wide := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Fixed(2)}}}
	y = b.Op("ConcatV2", "both", wide, graph.Attrs{"T": tensor.Float32, "N": int64(2)}, y, x, b.Const("one", tensor.Scalar(int32(1))))
	y = b.Op("Softmax", "y", wide, float, y)
	s := sessionOf(t, b, map[string]graph.Output{"x": x}, y)
	gone := make(chan bool)
	func() {
		x := tensor.New(tensor.Float32, 1<<20, 1)
		runtime.AddCleanup(&x.Bytes[0], func(bool) { close(gone) }, true)
		if _, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": x}, []string{"y:0"}); err != nil {
			t.Fatal(err)
		}
	}()
	for limit := time.After(time.Minute); ; {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-limit:
			t.Fatal("the feed is kept")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestAllowed: a refused reservation leaves a program that can be run.
func TestAllowed(t *testing.T) {
	s := negation(t, 1<<30)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	negate(t, s, 1, 1)
	no := errors.New("no")
	if err := program(t, s).Reserve(1000, func(int) error { return no }); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	negate(t, s, 2, 1)
	negate(t, s, 2000, 1)
}
