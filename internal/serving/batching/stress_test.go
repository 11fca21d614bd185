package batching

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// pair answers y = x + 1 for numbers and appends "!" to strings, for any shape.
func pair(_ context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) // so that requests meet in queues
	var out []*tensor.Tensor
	for _, f := range fetches {
		if f == "y:0" {
			y := feeds["x:0"].Clone()
			for i := range tensor.Values[int64](y) {
				tensor.Values[int64](y)[i]++
			}
			out = append(out, y)
			continue
		}
		s := feeds["s:0"].Clone()
		for i, b := range s.Strings {
			s.Strings[i] = append(slices.Clone(b), '!')
		}
		out = append(out, s)
	}
	return out, nil
}

// client is a caller whose feeds hold numbers and strings that no other client sends.
type client struct {
	rows, width int
	x, s        *tensor.Tensor
}

func newClient(t *testing.T, r *rand.Rand, id, width int) client {
	c := client{rows: 1 + r.IntN(9), width: width}
	x := make([]int64, c.rows*c.width)
	for i := range x {
		x[i] = int64(id)*1000 + int64(i)
	}
	var s [][]byte
	for i := range c.rows {
		s = append(s, []byte(strconv.Itoa(id)+"."+strconv.Itoa(i)))
	}
	var err error
	if c.x, err = tensor.FromSlice(x, c.rows, c.width); err != nil {
		t.Error(err)
	}
	if c.s, err = tensor.FromStrings(s, c.rows); err != nil {
		t.Error(err)
	}
	return c
}

// check compares an answer with the client's feeds; the rows may have been padded.
func (c client) check(y, s *tensor.Tensor) error {
	if len(y.Shape) != 2 || y.Shape[0] != c.rows || y.Shape[1] < c.width || !slices.Equal(s.Shape, []int{c.rows}) {
		return fmt.Errorf("shapes %v and %v for %d x %d", y.Shape, s.Shape, c.rows, c.width)
	}
	asked, got := tensor.Values[int64](c.x), tensor.Values[int64](y)
	for i := range c.rows {
		if want := string(c.s.Strings[i]) + "!"; string(s.Strings[i]) != want {
			return fmt.Errorf("row %d is %q, expected %q", i, s.Strings[i], want)
		}
		for j := range y.Shape[1] {
			want := asked[0] + 1
			if j < c.width {
				want = asked[i*c.width+j] + 1
			}
			if v := got[i*y.Shape[1]+j]; v != want {
				return fmt.Errorf("row %d is %d at %d, expected %d", i, v, j, want)
			}
		}
	}
	return nil
}

// Two hundred clients send different numbers and lengths of rows, and some give up: every answer is the client's own.
func TestManyClients(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Parameters)
		widths int
	}{
		{"no padding", func(*Parameters) {}, 1},
		{"lengths", func(p *Parameters) { p.PadVariableLengthInputs = true }, 5},
		{"sizes", func(p *Parameters) { p.AllowedBatchSizes = []int{3, 7, 16} }, 1},
		{"both, with a time-out", func(p *Parameters) {
			p.PadVariableLengthInputs, p.AllowedBatchSizes, p.BatchTimeout = true, []int{8, 16}, time.Millisecond
		}, 5},
		{"splitting", func(p *Parameters) {
			p.EnableLargeBatchSplitting, p.MaxExecutionBatchSize = true, 4
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Parameters{MaxBatchSize: 16, MaxEnqueuedBatches: 1000, NumBatchThreads: 3}
			c.change(&p)
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			s := NewScheduler(Options{Threads: p.NumBatchThreads})
			defer s.Close()
			manyClients(t, New(servable.ID{Name: "pair"}, &servable.Func{Compute: pair}, p, s), c.widths)
		})
	}
}

func manyClients(t *testing.T, m servable.Model, widths int) {
	const clients, each = 200, 6
	var calls sync.WaitGroup
	for id := range clients {
		calls.Go(func() {
			r := rand.New(rand.NewPCG(uint64(id), 7))
			for n := range each {
				c := newClient(t, r, id*each+n, 1+r.IntN(widths))
				ctx, cancel := context.WithCancel(t.Context())
				quits := r.IntN(4) == 0
				if quits {
					time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, cancel)
				}
				out, err := m.Run(ctx, map[string]*tensor.Tensor{"x:0": c.x, "s:0": c.s}, []string{"y:0", "t:0"})
				cancel()
				if err == nil {
					err = c.check(out[0], out[1])
				} else if quits && status.Code(err) == codes.Canceled {
					err = nil
				}
				if err != nil {
					t.Errorf("client %d: %v", id, err)
				}
				clear(c.s.Strings) // the caller may reuse feeds: the batch no longer reads them
				clear(c.x.Bytes)
			}
		})
	}
	calls.Wait()
}

// Merged feeds hold every task's rows in order; the elements between them are the padding value of their tensor.
func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 4).Draw(t, "rank")
		var tasks []*task
		total := 0
		for range rapid.IntRange(1, 5).Draw(t, "tasks") {
			shape := rapid.SliceOfN(rapid.IntRange(1, 4), rank, rank).Draw(t, "shape")
			x := tensor.New(tensor.Int32, shape...)
			for i := range tensor.Values[int32](x) {
				tensor.Values[int32](x)[i] = rapid.Int32().Draw(t, "v")
			}
			from := rapid.IntRange(0, shape[0]-1).Draw(t, "from")
			tasks = append(tasks, &task{req: &request{feeds: map[string]*tensor.Tensor{"x": x}}, from: from, to: shape[0]})
			total += shape[0] - from
		}
		total += rapid.IntRange(0, 3).Draw(t, "padding")
		merged := merge(tasks, total)["x"]
		if merged.Shape[0] != total {
			t.Fatalf("%v rows, expected %d", merged.Shape, total)
		}
		last := tasks[len(tasks)-1]
		at := 0
		for _, k := range tasks {
			compareBlock(t, rows(merged, at, at+k.rows()), k.feeds()["x"], make([]int, 0, rank))
			at += k.rows()
		}
		for ; at < total; at++ {
			compareBlock(t, rows(merged, at, at+1), rows(last.feeds()["x"], 0, 1), make([]int, 0, rank))
		}
	})
}

// compareBlock compares large with small inside small's block, and with small's first element outside of it.
func compareBlock(t *rapid.T, large, small *tensor.Tensor, at []int) {
	if len(at) < len(large.Shape) {
		for i := range large.Shape[len(at)] {
			compareBlock(t, large, small, append(at, i))
		}
		return
	}
	l, s, inside := 0, 0, true
	for d, i := range at {
		l = l*large.Shape[d] + i
		s = s*small.Shape[d] + i
		inside = inside && i < small.Shape[d]
	}
	if !inside {
		s = 0
	}
	if got, want := tensor.Values[int32](large)[l], tensor.Values[int32](small)[s]; got != want {
		t.Fatalf("at %v: %d, expected %d", at, got, want)
	}
}
