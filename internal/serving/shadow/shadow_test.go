package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/shadow"
	"github.com/goestimator/goestimator/internal/serving/traffic"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// results collects the results of copies.
type results struct{ ch chan shadow.Result }

func (r results) Shadowed(x shadow.Result) { r.ch <- x }

// bench is a service whose version 1 answers, and a mirror to version 2.
type bench struct {
	service *inference.Service
	mirror  *shadow.Mirror
	results
	sampled traffic.Shadow
}

// changed is the model of modeltest with changed answers.
type changed struct {
	servable.Model
	run func(ctx context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error)
}

func (c changed) Run(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	outs, err := c.Model.Run(ctx, feeds, fetches)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, outs)
}

func newBench(t *testing.T, o shadow.Options, second func(ctx context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error)) *bench {
	models := &servable.Memory{}
	models.Set(servable.ID{Name: "m", Version: 1}, modeltest.New())
	if second != nil {
		models.Set(servable.ID{Name: "m", Version: 2}, changed{modeltest.New(), second})
	}
	b := &bench{results: results{make(chan shadow.Result, 1000)}, sampled: traffic.Shadow{Version: 2, Percent: 100, Tolerance: 1e-3}}
	o.Models, o.Observers = models, []shadow.Observer{b}
	o.Shadow = func(id servable.ID) *traffic.Shadow {
		if id.Name != "m" || id.Version == 2 {
			return nil
		}
		return &b.sampled
	}
	b.mirror = shadow.New(o)
	t.Cleanup(func() { b.close(t) })
	b.service = &inference.Service{Models: models, Observers: []inference.Observer{b.mirror}}
	return b
}

func (b *bench) close(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := b.mirror.Close(ctx); err != nil {
		t.Error(err)
	}
}

// one sends a request to version 1.
func (b *bench) one(t *testing.T) {
	t.Helper()
	x := tensor.New(tensor.Float32, 3)
	_, err := b.service.PredictTensors(t.Context(), inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}}, map[string]*tensor.Tensor{"x": x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(x.Bytes) // the caller may reuse it
}

func (b *bench) next(t *testing.T) shadow.Result {
	t.Helper()
	select {
	case r := <-b.ch:
		return r
	case <-time.After(time.Minute):
		t.Fatal("no result")
	}
	return shadow.Result{}
}

func asIs(_ context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error) { return outs, nil }

// add adds a number to every float.
func add(d float32) func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return func(_ context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error) {
		for _, o := range outs {
			if o.DType == tensor.Float32 {
				for i := range o.Len() {
					tensor.Values[float32](o)[i] += d
				}
			}
		}
		return outs, nil
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		second     func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error)
		want       shadow.Outcome
		difference float64
	}{
		"same":  {asIs, shadow.Same, 0},
		"close": {add(1e-4), shadow.Same, 5e-5}, // of 2
		"other": {add(2), shadow.Different, 0.5},
		"shape": {func(_ context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error) {
			outs[0].Shape = []int{1, 3}
			return outs, nil
		}, shadow.Different, math.Inf(1)},
		"nan":   {add(float32(math.NaN())), shadow.Different, math.Inf(1)},
		"fails": {func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) { return nil, errors.New("no") }, shadow.Failed, 0},
		"panic": {func(context.Context, []*tensor.Tensor) ([]*tensor.Tensor, error) { panic("a defect") }, shadow.Failed, 0},
		"gone":  {nil, shadow.Dropped, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, shadow.Options{}, c.second)
			b.one(t)
			r := b.next(t)
			if r.Outcome != c.want || r.ID != (servable.ID{Name: "m", Version: 2}) || r.Difference != c.difference && !(math.Abs(r.Difference-c.difference) < 1e-6) {
				t.Errorf("got %+v, expected %v with %v", r, c.want, c.difference)
			}
		})
	}
}

// Calls of every kind, as messages and as tensors, are copied; failed calls and calls that version 2 answered are not.
func TestCalls(t *testing.T) {
	b := newBench(t, shadow.Options{}, add(3))
	example := `input { example_list { examples { features { feature { key: "a" value { float_list { value: 1 } } } } } } }`
	ask := func(m proto.Message, spec, text string) {
		t.Helper()
		if err := prototext.Unmarshal([]byte(fmt.Sprintf(text, spec)), m); err != nil {
			t.Fatal(err)
		}
		var err error
		switch r := m.(type) {
		case *apis.PredictRequest:
			_, err = b.service.Predict(t.Context(), r)
		case *apis.ClassificationRequest:
			_, err = b.service.Classify(t.Context(), r)
		case *apis.RegressionRequest:
			_, err = b.service.Regress(t.Context(), r)
		case *apis.MultiInferenceRequest:
			_, err = b.service.MultiInference(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const v1, v2 = `name: "m" version { value: 1 }`, `name: "m" version { value: 2 }`
	predict := `model_spec { %s } inputs { key: "x" value { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 1 } }`
	for name, call := range map[string]func(){
		"Predict": func() { ask(&apis.PredictRequest{}, v1, predict) },
		"Classify": func() {
			ask(&apis.ClassificationRequest{}, v1+` signature_name: "classify"`, `model_spec { %s } `+example)
		},
		"Regress": func() { ask(&apis.RegressionRequest{}, v1+` signature_name: "regress"`, `model_spec { %s } `+example) },
		"MultiInference": func() {
			ask(&apis.MultiInferenceRequest{}, v1+` signature_name: "regress"`, `tasks { model_spec { %s } method_name: "tensorflow/serving/regress" } `+example)
		},
		"tensors": func() { b.one(t) },
		"ClassifyExamples": func() {
			spec := inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}, Signature: "classify"}
			if _, err := b.service.ClassifyExamples(t.Context(), spec, inference.Examples{Serialized: [][]byte{{1}}, Context: []byte{2}}); err != nil {
				t.Fatal(err)
			}
		},
		"RegressExamples": func() {
			spec := inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}, Signature: "regress"}
			if _, err := b.service.RegressExamples(t.Context(), spec, inference.Examples{Serialized: [][]byte{{1}}}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		call()
		if r := b.next(t); r.Outcome != shadow.Different || math.IsInf(r.Difference, 1) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	ask(&apis.PredictRequest{}, v2, predict)
	if _, err := b.service.PredictTensors(t.Context(), inference.Spec{Name: "m", Signature: "fails"}, map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, 1)}, nil); err == nil {
		t.Error("a model that fails has answered")
	}
	b.one(t)
	if r := b.next(t); r.Outcome != shadow.Different || len(b.ch) != 0 {
		t.Errorf("got %+v and %d more, expected the copy of the last call alone", r, len(b.ch))
	}
}

// A version that does not answer delays nobody: the queue fills up exactly, and further copies are dropped; then it continues.
func TestFullQueue(t *testing.T) {
	began, proceed := make(chan struct{}, 100), make(chan struct{})
	b := newBench(t, shadow.Options{Queue: 4}, func(_ context.Context, outs []*tensor.Tensor) ([]*tensor.Tensor, error) {
		began <- struct{}{}
		<-proceed
		return outs, nil
	})
	b.one(t)
	<-began
	for range 3 {
		b.one(t)
	}
	if len(b.ch) != 0 {
		t.Errorf("%d of 4 copies were dropped", len(b.ch))
	}
	for range 5 {
		b.one(t)
	}
	if len(b.ch) != 5 {
		t.Errorf("%d of 5 copies too many were dropped", len(b.ch))
	}
	for range 5 {
		if r := b.next(t); r.Outcome != shadow.Dropped {
			t.Errorf("got %+v", r)
		}
	}
	close(proceed)
	for range 4 {
		if r := b.next(t); r.Outcome != shadow.Same {
			t.Errorf("got %+v", r)
		}
	}
	b.one(t)
	if r := b.next(t); r.Outcome != shadow.Same {
		t.Errorf("after the queue was full: got %+v", r)
	}
}

// Copies for which there is no memory are dropped, and all memory is released.
func TestMemory(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 64 << 10})
	defer memory.Close()
	b := newBench(t, shadow.Options{Memory: memory}, asIs)
	x := map[string]*tensor.Tensor{"x": tensor.New(tensor.Float32, 100_000)}
	if _, err := b.service.PredictTensors(t.Context(), inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}}, x, nil); err != nil {
		t.Fatal(err)
	}
	if r := b.next(t); r.Outcome != shadow.Dropped {
		t.Errorf("got %+v", r)
	}
	b.one(t)
	if r := b.next(t); r.Outcome != shadow.Same {
		t.Errorf("got %+v", r)
	}
	b.close(t)
	if n := memory.Used(); n != 0 {
		t.Errorf("%d bytes are held at the end", n)
	}
}

// Close ends a running call and drops the waiting ones; each copy has its result.
func TestClose(t *testing.T) {
	began := make(chan struct{}, 100)
	b := newBench(t, shadow.Options{}, func(ctx context.Context, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
		began <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	for range 3 {
		b.one(t)
	}
	<-began
	b.close(t)
	for range 3 {
		if r := b.next(t); r.Outcome != shadow.Dropped {
			t.Errorf("got %+v", r)
		}
	}
	b.one(t)
	if r := b.next(t); r.Outcome != shadow.Dropped {
		t.Errorf("after Close: got %+v", r)
	}
}

// A copy that takes too long is ended.
func TestTimeout(t *testing.T) {
	b := newBench(t, shadow.Options{Timeout: time.Nanosecond}, asIs)
	b.one(t)
	if r := b.next(t); r.Outcome != shadow.Failed {
		t.Errorf("got %+v", r)
	}
}

// Many concurrent requests have as many results.
func TestConcurrent(t *testing.T) {
	b := newBench(t, shadow.Options{Queue: 3}, asIs)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				b.one(t)
			}
		})
	}
	work.Wait()
	for range 200 {
		if r := b.next(t); r.Outcome != shadow.Same && r.Outcome != shadow.Dropped {
			t.Fatalf("got %+v", r)
		}
	}
}

func Example() {
	models := modeltest.Source()
	got := results{make(chan shadow.Result, 1)}
	m := shadow.New(shadow.Options{Models: models, Observers: []shadow.Observer{got}, Shadow: func(answered servable.ID) *traffic.Shadow {
		if answered.Version == 2 {
			return nil
		}
		return &traffic.Shadow{Version: 2, Percent: 100, Tolerance: 1e-3}
	}})
	s := &inference.Service{Models: models, Observers: []inference.Observer{m}}
	spec := inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}}
	_, err := s.PredictTensors(context.Background(), spec, map[string]*tensor.Tensor{"x": tensor.Scalar[float32](1)}, nil)
	r := <-got.ch
	fmt.Println(err, r.ID, r.Outcome, r.Difference, m.Close(context.Background()))
	// Output: <nil> {name: m version: 2} same 0 <nil>
}
