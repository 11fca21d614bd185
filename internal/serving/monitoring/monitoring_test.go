package monitoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape returns the text that Prometheus reads.
func scrape(t testing.TB, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", DefaultPath, nil))
	b, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v %v", w.Code, w.Header(), err)
	}
	return string(b)
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(text, l+"\n") {
			t.Errorf("no line %s", l)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func answered(model string, version int64) inference.Call {
	return inference.Call{API: "Predict", Entrypoint: "GRPC", Model: model, ID: servable.ID{Name: model, Version: version}, Signature: "serving_default",
		Latency: 15 * time.Microsecond, Runtime: 5 * time.Microsecond}
}

// The names, labels and buckets are TensorFlow Serving's.
func TestTensorFlowServing(t *testing.T) {
	r := New(nil)
	r.Done(answered("m", 2))
	c := answered("m", 2)
	c.API, c.Entrypoint, c.Examples = "Classify", "REST", 3
	r.Done(c)
	c.Err = status.Error(codes.InvalidArgument, "no")
	r.Done(c)
	r.WarmedUp("/models/m/2", time.Millisecond, nil)
	r.Loaded("/models/m/2", time.Millisecond, errors.New("no"))
	r.Logged("m", nil)
	expect(t, scrape(t, r),
		`:tensorflow:serving:request_count{model_name="m",status="OK"} 2`,
		`:tensorflow:serving:request_count{model_name="m",status="INVALID_ARGUMENT"} 1`,
		`:tensorflow:serving:request_latency_bucket{API="Predict",entrypoint="GRPC",model_name="m",le="10"} 0`,
		`:tensorflow:serving:request_latency_bucket{API="Predict",entrypoint="GRPC",model_name="m",le="18"} 1`,
		`:tensorflow:serving:request_latency_sum{API="Predict",entrypoint="GRPC",model_name="m"} 15`,
		`:tensorflow:serving:request_latency_count{API="classify",entrypoint="REST",model_name="m"} 1`,
		`:tensorflow:serving:runtime_latency_sum{API="Predict",model_name="m",runtime="TF1"} 5`,
		`:tensorflow:serving:request_example_counts_sum{model="m"} 3`,
		`:tensorflow:serving:request_example_count_total{model="m"} 3`,
		`:tensorflow:serving:request_log_count{model_name="m",status_code="OK"} 1`,
		`:tensorflow:serving:model_warmup_latency_count{model_path="/models/m/2",status="OK"} 1`,
		`:tensorflow:cc:saved_model:load_attempt_count{model_path="/models/m/2",status="fail"} 1`,
		`:tensorflow:cc:saved_model:load_latency{model_path="/models/m/2"} 1000`,
		`goestimator_serving_requests_total{api="Classify",code="INVALID_ARGUMENT",entrypoint="REST",model="m",signature="serving_default",version="2"} 1`,
		`goestimator_serving_request_seconds_count{model="m",signature="serving_default",version="2"} 2`,
	)
	if text := scrape(t, r); !strings.Contains(text, "process_start_time_seconds ") || !strings.Contains(text, "go_goroutines ") {
		t.Error("no metrics of the process")
	}
	if n := strings.Count(scrape(t, r), `:tensorflow:serving:request_latency_bucket{API="Predict"`); n != 34 {
		t.Errorf("%d buckets, expected 33 and +Inf", n)
	}
}

// Whatever clients send, only existing models have series.
func TestCardinality(t *testing.T) {
	r := New(func(model string) bool { return model == "loading" })
	r.Done(answered("m", 1))
	missing := inference.Call{API: "Predict", Entrypoint: "GRPC", Model: "loading", Signature: "serving_default", Err: servable.NotFound("loading", servable.Version{})}
	r.Done(missing)
	odd := answered("m", 1)
	odd.Signature, odd.Runtime, odd.Err = "no such", 0, status.Error(codes.FailedPrecondition, "no")
	r.Done(odd)
	missing.Model = "x"
	r.Done(missing)
	before := strings.Count(scrape(t, r), "\n")
	for range 1000 {
		missing.Model, missing.Signature = fmt.Sprint(rand.Int64()), fmt.Sprint(rand.Int64())
		r.Done(missing)
		odd.Signature = fmt.Sprint(rand.Int64())
		r.Done(odd)
	}
	text := scrape(t, r)
	if after := strings.Count(text, "\n"); after > before+20 { // the runtime's own metrics vary
		t.Errorf("%d lines became %d", before, after)
	}
	expect(t, text,
		`:tensorflow:serving:request_count{model_name="(unknown)",status="NOT_FOUND"} 1001`,
		`:tensorflow:serving:request_count{model_name="loading",status="NOT_FOUND"} 1`,
		`goestimator_serving_requests_total{api="Predict",code="FAILED_PRECONDITION",entrypoint="GRPC",model="m",signature="(unknown)",version="1"} 1001`)
}

// A version that is gone takes its series with it; the model's counts stay.
func TestRemove(t *testing.T) {
	r := New(nil)
	for v := range int64(3) {
		r.Done(answered("m", v))
		r.Batch(batching.BatchStats{Model: servable.ID{Name: "m", Version: v}, Rows: 1})
		r.Loaded(fmt.Sprint("/m/", v), time.Second, nil)
		r.Remove(servable.ID{Name: "m", Version: v}, fmt.Sprint("/m/", v))
	}
	text := scrape(t, r)
	for _, gone := range []string{`model="m",`, `model_path=`} {
		if strings.Contains(text, gone) {
			t.Errorf("series with %s are left", gone)
		}
	}
	expect(t, text, `:tensorflow:serving:request_count{model_name="m",status="OK"} 3`)
}

// TestOddFolders: a folder's name may have any bytes.
func TestOddFolders(t *testing.T) {
	r := New(nil)
	r.Loaded("/m/\xff/1", time.Second, nil)
	r.WarmedUp("/m/\xff/1", time.Second, nil)
	if n, _ := r.Snapshot().Sum(":tensorflow:cc:saved_model:load_attempt_count"); n != 1 {
		t.Errorf("%v loads, expected 1", n)
	}
	r.Remove(servable.ID{Name: "m", Version: 1}, "/m/\xff/1")
	if n, ok := r.Snapshot().Sum(":tensorflow:cc:saved_model:load_attempt_count"); ok {
		t.Errorf("%v loads are left", n)
	}
}

func TestBatches(t *testing.T) {
	r := New(nil)
	r.Batch(batching.BatchStats{Model: servable.ID{Name: "m", Version: 2}, Pool: "pool", Tasks: []int{3, 2}, Waits: []time.Duration{time.Millisecond, 0}, Rows: 5, Padding: 3, Run: time.Second})
	expect(t, scrape(t, r),
		`:tensorflow:serving:batching_session:queuing_latency_sum{thread_pool_name="pool"} 1000`,
		`:tensorflow:serving:batching_session:padding_size_sum 3`,
		`:tensorflow:serving:batching_session:input_batch_size_sum 5`,
		`:tensorflow:serving:batching_session:input_batch_size_count 2`,
		`:tensorflow:serving:batching_session:processed_batch_size_sum 8`,
		`:tensorflow:serving:batching_session:wrapped_run_count 1`,
		`goestimator_batching_batches_total{code="OK",model="m",version="2"} 1`,
		`goestimator_batching_rows_total{model="m",version="2"} 5`,
		`goestimator_batching_padding_rows_total{model="m",version="2"} 3`,
		`goestimator_batching_requests_total{model="m",version="2"} 2`,
		`goestimator_batching_run_seconds_sum{model="m",version="2"} 1`)
}

func TestGRPC(t *testing.T) {
	r := New(nil)
	no := status.Error(codes.NotFound, "no")
	_, err := r.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/tensorflow.serving.PredictionService/Predict"},
		func(context.Context, any) (any, error) { return nil, no })
	if !errors.Is(err, no) {
		t.Error(err)
	}
	if err := r.Stream(nil, nil, &grpc.StreamServerInfo{FullMethod: "/a.B/Watch"}, func(any, grpc.ServerStream) error { return nil }); err != nil {
		t.Error(err)
	}
	expect(t, scrape(t, r),
		`grpc_server_started_total{grpc_method="Predict",grpc_service="tensorflow.serving.PredictionService"} 1`,
		`grpc_server_handled_total{grpc_code="NOT_FOUND",grpc_method="Predict",grpc_service="tensorflow.serving.PredictionService"} 1`,
		`grpc_server_handling_seconds_count{grpc_method="Watch",grpc_service="a.B"} 1`)
}

func TestSumAndGauge(t *testing.T) {
	r := New(nil)
	r.Done(answered("a", 1))
	r.Done(answered("b", 1))
	for _, name := range []string{"/tensorflow/serving/request_count", ":tensorflow:serving:request_latency"} {
		if n, ok := r.Snapshot().Sum(name); n != 2 || !ok {
			t.Errorf("%s: %v, %v", name, n, ok)
		}
	}
	if _, ok := r.Snapshot().Sum("/no/such"); ok {
		t.Error("a metric that is not there has a sum")
	}
	if err := r.Gauge("queue_rows", "Rows that wait.", func() float64 { return 7 }); err != nil {
		t.Error(err)
	}
	if n, ok := r.Snapshot().Sum("goestimator_queue_rows"); n != 7 || !ok {
		t.Errorf("%v, %v", n, ok)
	}
	if err := r.Gauge("queue_rows", "Again.", func() float64 { return 7 }); err == nil {
		t.Error("a name was taken twice")
	}
}

func TestManyAtOnce(t *testing.T) {
	r := New(nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				r.Done(answered("m", int64(i%2)))
				r.Batch(batching.BatchStats{Model: servable.ID{Name: "m", Version: int64(i % 2)}, Rows: 1, Tasks: []int{1}})
				if i == 0 {
					r.Remove(servable.ID{Name: "m", Version: 1}, "/m/1")
				}
			}
		})
	}
	scrape(t, r)
	all.Wait()
	if n, _ := r.Snapshot().Sum("/tensorflow/serving/request_count"); n != 1600 {
		t.Errorf("%v requests", n)
	}
}

func TestConfig(t *testing.T) {
	c, err := ReadConfig(testkit.Shared(t, "golden/tensorflow-serving/monitoring_config.txt"))
	if want := (Config{true, "/monitoring/prometheus/metrics"}); err != nil || c != want {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]Config{
		"":                                   {false, DefaultPath},
		"prometheus_config { enable: true }": {true, DefaultPath},
		`prometheus_config { path: "/m" }`:   {false, "/m"},
	} {
		if c, err := ParseConfig([]byte(text)); err != nil || c != want {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"x", `prometheus_config { path: "m" }`} {
		if _, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if _, err := ReadConfig("no such file"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`prometheus_config: { enable: true, path: "/m" }`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := ParseConfig(text); err == nil && !strings.HasPrefix(c.Path, "/") {
			t.Errorf("accepted %+v", c)
		}
	})
}

func BenchmarkDone(b *testing.B) {
	r := New(nil)
	c := answered("m", 1)
	b.ReportAllocs()
	for b.Loop() {
		r.Done(c)
	}
}

// Names that clients choose cannot make lines or escape sequences.
func TestHostileNames(t *testing.T) {
	const name = "m\x1b[2J\u009b31m\nready 1\xff"
	r := New(func(string) bool { return true })
	c := answered(name, 1)
	c.Signature = name
	r.Done(c)
	c.ID = servable.ID{}
	r.Done(c)
	r.Logged(name, nil)
	r.Loaded(name, time.Millisecond, nil)
	r.WarmedUp(name, time.Millisecond, nil)
	r.Batch(batching.BatchStats{Model: servable.ID{Name: name, Version: 1}, Pool: name, Waits: []time.Duration{1}, Rows: 1, Tasks: []int{1}})
	text := scrape(t, r)
	const shown = `m\\x1b[2J\\u009b31m\\nready 1\\xff`
	expect(t, text, `:tensorflow:serving:request_log_count{model_name="`+shown+`",status_code="OK"} 1`,
		`goestimator_serving_requests_total{api="Predict",code="OK",entrypoint="GRPC",model="`+shown+`",signature="`+shown+`",version="1"} 1`)
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsGraphic(r) }); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("at byte %d: %q", i, text[max(i-100, 0):max(i, 0)+10])
	}
	if strings.Contains(text, "\nready") {
		t.Error("a line was forged")
	}
	r.Remove(servable.ID{Name: name, Version: 1}, name)
	if left := scrape(t, r); strings.Contains(left, `version="1"`) || strings.Contains(left, "model_path") {
		t.Errorf("series of a version that is gone: %s", left)
	}
}
