package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestErrors: the error of an invalid request names the tensor, and has a code.
func TestErrors(t *testing.T) {
	m := load(t, "saved_model_half_plus_two_tf2_cpu/00000123")
	x := m.Signatures()["serving_default"].GetInputs()["x"].GetName()
	y := m.Signatures()["serving_default"].GetOutputs()["y"].GetName()
	good := floats(t, []float32{1}, 1)
	strange, err := tensor.FromSlice([]int64{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		feeds map[string]*tensor.Tensor
		fetch string
		says  string
	}{
		"no value":     {map[string]*tensor.Tensor{x: nil}, y, x},
		"type":         {map[string]*tensor.Tensor{x: strange}, y, "expected float32"},
		"bytes":        {map[string]*tensor.Tensor{x: {DType: tensor.Float32, Shape: []int{3}, Bytes: make([]byte, 4)}}, y, x},
		"negative":     {map[string]*tensor.Tensor{x: {DType: tensor.Float32, Shape: []int{-1}, Bytes: make([]byte, 4)}}, y, x},
		"huge":         {map[string]*tensor.Tensor{x: {DType: tensor.Float32, Shape: []int{1 << 62, 4}}}, y, x},
		"other feed":   {map[string]*tensor.Tensor{"nobody:0": good}, y, "nobody:0"},
		"other fetch":  {map[string]*tensor.Tensor{x: good}, "nobody:0", "nobody:0"},
		"no such port": {map[string]*tensor.Tensor{x: good}, "serving_default_x:7", "serving_default_x:7"},
		"not a name":   {map[string]*tensor.Tensor{x: good}, ":::", ":::"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := m.Run(context.Background(), c.feeds, []string{c.fetch})
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, expected InvalidArgument that says %q", err, c.says)
			}
		})
	}
	gone, stop := context.WithCancel(context.Background())
	stop()
	if _, err := m.Run(gone, map[string]*tensor.Tensor{x: good}, []string{y}); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: got %v", err)
	}
	late, stop := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer stop()
	if _, err := m.Run(late, map[string]*tensor.Tensor{x: good}, []string{y}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("late: got %v", err)
	}
}

// TestBytesOfFeeds: a tensor has exactly the bytes that its shape and type need, or strings.
func TestBytesOfFeeds(t *testing.T) {
	s := mlp(t, session.Options{})
	sig := s.Signatures()[savedmodel.DefaultSignature]
	in, out := sig.Inputs["t"].GetName(), []string{sig.Outputs["t"].GetName()}
	const bytes = 2 * 4
	for n, good := range map[int]bool{bytes * mlpSizes[0]: true, bytes*mlpSizes[0] - 1: false, bytes*mlpSizes[0] + 1: false, 2 * bytes * mlpSizes[0]: false, 0: false} {
		x := &tensor.Tensor{DType: tensor.Float32, Shape: []int{2, mlpSizes[0]}, Bytes: make([]byte, n)}
		_, err := s.Run(context.Background(), map[string]*tensor.Tensor{in: x}, out)
		if good && err != nil || !good && (status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), in[:1])) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
}

// TestMatrixShape: sizes that the ops do not accept are the caller's fault, and the input is named.
func TestMatrixShape(t *testing.T) {
	s := mlp(t, session.Options{})
	sig := s.Signatures()[savedmodel.DefaultSignature]
	_, err := s.Run(context.Background(), map[string]*tensor.Tensor{sig.Inputs["t"].GetName(): floats(t, make([]float32, 6), 2, 3)}, []string{sig.Outputs["t"].GetName()})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "x:0") {
		t.Fatalf("got %v", err)
	}
	_, err = s.Run(context.Background(), nil, []string{sig.Outputs["t"].GetName()})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `"x"`) {
		t.Fatalf("not fed: got %v", err)
	}
}

// TestConcurrent runs batches of several sizes from many goroutines.
func TestConcurrent(t *testing.T) {
	s := mlp(t, session.Options{MaxConcurrent: 3})
	sig := s.Signatures()[savedmodel.DefaultSignature]
	in, out := sig.Inputs["t"].GetName(), []string{sig.Outputs["t"].GetName()}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	all := random(3, 8, mlpSizes[0])
	want, err := s.Run(ctx, map[string]*tensor.Tensor{in: all}, out)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for k := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 10 {
				rows := 1 + (k+i)%8
				x, err := tensor.FromSlice(tensor.Values[float32](all)[:rows*mlpSizes[0]], rows, mlpSizes[0])
				if err != nil {
					errs <- err
					return
				}
				got, err := s.Run(ctx, map[string]*tensor.Tensor{in: x}, out)
				if err != nil {
					errs <- err
					return
				}
				for j, v := range tensor.Values[float32](got[0]) {
					if d := v - tensor.Values[float32](want[0])[j]; d > 1e-4 || d < -1e-4 {
						errs <- fmt.Errorf("%d rows: element %d is %v, expected %v", rows, j, v, tensor.Values[float32](want[0])[j])
						return
					}
				}
			}
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// TestConcurrentUpdates: no update of a variable is lost.
func TestConcurrentUpdates(t *testing.T) {
	m := load(t, "saved_model_counter/00000123")
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 25 {
				if _, err := tryCall(m, "incr_counter", nil); err != nil {
					t.Error(err)
				}
				if _, err := tryCall(m, "get_counter", nil); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	near(t, "counter", call(t, m, "get_counter", nil)["output"], 100)
}

// TestClosed: a closed session returns an error.
func TestClosed(t *testing.T) {
	s := mlp(t, session.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), nil, []string{"x:0"}); status.Code(err) != codes.Unavailable {
		t.Fatalf("got %v", err)
	}
}

// TestEmptyBatch: no rows in, no rows out.
func TestEmptyBatch(t *testing.T) {
	m := load(t, "saved_model_half_plus_two_cpu/00000123")
	got := call(t, m, "serving_default", map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, 0, 1)})["y"]
	if got.Len() != 0 || len(got.Shape) != 2 || got.Shape[1] != 1 {
		t.Fatalf("got %v", got.Shape)
	}
}

// TestSeveralSignatures: fetches of several signatures at once, as in MultiInference.
func TestSeveralSignatures(t *testing.T) {
	m := load(t, "saved_model_half_plus_two_cpu/00000123")
	s, err := tensor.FromStrings([][]byte{example(t, "x", 4)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Run(context.Background(), map[string]*tensor.Tensor{"tf_example:0": s}, []string{"y:0", "y2:0", "y:0"})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "y", got[0], 4)
	near(t, "y2", got[1], 5)
	near(t, "y again", got[2], 4)
	tensor.Values[float32](got[0])[0] = 9
	near(t, "y again", got[2], 4)
}

// TestUnsupported: all unsupported ops are named.
func TestUnsupported(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown}}}
	x := b.Placeholder("x", typ)
	y := b.Op("NoSuchOp", "one", typ, nil, x)
	z := b.Op("NorThis", "two", typ, nil, y)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	_, err := session.Load(context.Background(), metaGraph(t, b.Graph, x, z), session.Options{})
	var unsupported *session.UnsupportedError
	if !errors.As(err, &unsupported) || len(unsupported.Gaps) != 2 || !strings.Contains(err.Error(), "NorThis (node two") {
		t.Fatalf("got %v", err)
	}
}

// TestEviction: more sizes at the same time than are kept, from many goroutines.
func TestEviction(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	typ := graph.Type{DType: tensor.Float32, Shape: graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}}
	x := b.Placeholder("x", typ)
	y := b.Op("Neg", "y", typ, graph.Attrs{"T": tensor.Float32}, x)
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Load(context.Background(), metaGraph(t, b.Graph, x, y), session.Options{MaxConcurrent: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 60 {
				in := random(k, 2, 1+(i*7+k*13)%40)
				got, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": in}, []string{"y:0"})
				if err != nil {
					t.Error(err)
					return
				}
				if a, b := tensor.Values[float32](got[0])[1], tensor.Values[float32](in)[1]; a != -b {
					t.Errorf("got %v of %v", a, b)
				}
			}
		}()
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
