package serving

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestOverload: while one request is in the model and one is waiting, a third one is refused, on both ports. The metrics
// include the queue.
func TestOverload(t *testing.T) {
	gate, inside := make(chan struct{}), make(chan struct{}, 2)
	first := true
	slow := func(context.Context, string) (Model, error) {
		inner := modeltest.New()
		return &servable.Func{Sigs: inner.Signatures(), Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
			if first { // one slot: no other run
				first = false
				time.Sleep(20 * time.Millisecond) // the time of a run
			} else {
				inside <- struct{}{}
				<-gate
			}
			return inner.Run(ctx, feeds, fetches)
		}}, nil
	}
	s := run(t, Options{Loader: slow, Models: single(folders(t, "m/1"), "m"), Metrics: "/metrics", Overload: &Overload{Slots: 1}}).wait(t)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	c, rest := dial(t, s.Addresses().GRPC), "http://"+s.Addresses().REST
	if _, err := predict(t, c, "m"); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	ask := func() {
		if _, err := predict(t, c, "m"); err != nil {
			t.Error(err)
		}
	}
	calls.Go(ask)
	<-inside
	calls.Go(func() { // refused until enough of the run has passed
		for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := predict(t, c, "m"); status.Code(err) != codes.ResourceExhausted {
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
		t.Error("refused all the time")
	})
	for limit := time.Now().Add(waitLimit); s.queued() == 0 && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	if got := get(t, rest+"/metrics"); !strings.Contains(got, "goestimator_serving_queue 1\n") {
		t.Error("the metrics show no request that waits")
	}
	if _, err := c.Predict(testContext(t), client.Model{Name: "m"}, client.Inputs{"x": []float32{1}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC: got %v", err)
	}
	if got := do(t, "POST", rest+"/v1/models/m:predict", `{"instances": [1]}`); !strings.HasPrefix(got, "429 ") {
		t.Errorf("REST: got %s", got)
	}
	open()
	calls.Wait()
}
