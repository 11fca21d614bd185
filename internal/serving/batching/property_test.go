package batching

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// arrival is a request of a random history.
type arrival struct {
	after    time.Duration // since the previous one
	rows     int
	patience time.Duration // until its deadline
}

// In any history, batches have allowed sizes, every request is answered once and by its deadline, nothing runs before it
// arrives, and nothing waits while a worker is idle and the timeout is over.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ms := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(r, name)) * time.Millisecond
		}
		p := Parameters{MaxBatchSize: rapid.IntRange(1, 8).Draw(r, "max"), MaxEnqueuedBatches: rapid.IntRange(0, 4).Draw(r, "queue"), BatchTimeout: ms("timeout", 30),
			NumBatchThreads: rapid.IntRange(1, 3).Draw(r, "threads"), EnableLargeBatchSplitting: rapid.Bool().Draw(r, "split")}
		if p.EnableLargeBatchSplitting {
			p.MaxExecutionBatchSize = rapid.IntRange(1, p.MaxBatchSize).Draw(r, "execution")
		}
		if rapid.Bool().Draw(r, "sizes") {
			p.AllowedBatchSizes = []int{p.BatchRows()}
		}
		if err := p.Validate(); err != nil {
			r.Fatal(err)
		}
		var history []arrival
		for range rapid.IntRange(1, 12).Draw(r, "requests") {
			history = append(history, arrival{ms("after", 20), rapid.IntRange(1, 9).Draw(r, "rows"), ms("patience", 100)})
		}
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = live(t.Context(), p, history) })
		if problem != nil {
			r.Fatalf("%+v: %v", p, problem)
		}
	})
}

// waiting runs a history and returns what was wrong.
func live(ctx context.Context, p Parameters, history []arrival) error {
	const busy = 10 * time.Millisecond
	s := NewScheduler(Options{Threads: p.NumBatchThreads})
	defer s.Close()
	var mu sync.Mutex
	var problems []error
	report := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, errors.New(text))
	}
	m := New(servable.ID{}, &servable.Func{Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		n := feeds["x"].Shape[0]
		if n > p.BatchRows() || n != p.allowed(n) {
			report("a batch of a size that is not allowed")
		}
		select {
		case <-time.After(busy):
			return []*tensor.Tensor{feeds["x"]}, nil
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}}, p, s)
	var calls sync.WaitGroup
	for i, a := range history {
		time.Sleep(a.after)
		calls.Go(func() {
			x := tensor.New(tensor.Int32, a.rows)
			for j := range tensor.Values[int32](x) {
				tensor.Values[int32](x)[j] = int32(100*i + j)
			}
			ctx, cancel := context.WithTimeout(ctx, a.patience)
			defer cancel()
			start := time.Now()
			out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": x}, []string{"y"})
			took := time.Since(start)
			switch c := status.Code(err); {
			case c == codes.OK && (took < busy || out[0].Len() != a.rows || tensor.Values[int32](out[0])[0] != int32(100*i) || tensor.Values[int32](out[0])[a.rows-1] != int32(100*i+a.rows-1)):
				report("a wrong answer")
			case c == codes.InvalidArgument && a.rows <= p.MaxBatchSize:
				report("refused for its size: " + err.Error())
			case (c == codes.InvalidArgument || c == codes.Unavailable) && took != 0:
				report("refused late")
			case (c == codes.ResourceExhausted || c == codes.DeadlineExceeded) && took != a.patience:
				report("gave up at another time than its deadline")
			case c == codes.Internal || c == codes.Unknown:
				report(err.Error())
			case took > a.patience:
				report("answered after its deadline")
			case len(history) == 1 && c == codes.OK && a.rows <= p.BatchRows() && took > p.BatchTimeout+busy:
				report("a lone request waited too long")
			}
		})
		synctest.Wait()
	}
	calls.Wait()
	if len(s.active) != 0 || len(m.(*Model).queues) != 0 {
		report("queues are left")
	}
	return errors.Join(problems...)
}
