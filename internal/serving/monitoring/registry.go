package monitoring

import (
	"net/http"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/shadow"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/wamuir/graft/tensorflow/tsl/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Registry holds the metrics of one server. It is safe for concurrent use.
type Registry struct {
	known func(model string) bool
	reg   *prometheus.Registry
	serving
	own
	shadows
	batches
	calls
}

var (
	_ inference.Observer = (*Registry)(nil)
	_ batching.Observer  = (*Registry)(nil)
	_ shadow.Observer    = (*Registry)(nil)
)

// New returns a Registry. known reports whether a model is configured; all other names share one label.
func New(known func(model string) bool) *Registry {
	r := &Registry{known: known, reg: prometheus.NewRegistry()}
	r.serving = newServing(r.reg)
	r.own = newOwn(r.reg)
	r.shadows = newShadows(r.reg)
	r.batches = newBatches(r.reg)
	r.calls = newCalls(r.reg)
	r.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler shows the metrics in Prometheus's text form.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Gauge shows the value of f, such as the length of a queue, under the name after "goestimator_"; the name must be new.
func (r *Registry) Gauge(name, help string, f func() float64) error {
	return r.reg.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "goestimator_" + name, Help: help}, f))
}

// Snapshot holds the metrics of a Registry at some time, by name.
type Snapshot map[string]*dto.MetricFamily

// Snapshot returns all metrics as they are now.
func (r *Registry) Snapshot() Snapshot {
	families, _ := r.reg.Gather() // what could be gathered is there despite an error
	s := Snapshot{}
	for _, f := range families {
		s[f.GetName()] = f
	}
	return s
}

// Sum adds up all series of a counter or gauge, or the counts of a histogram. The name may be TensorFlow Serving's own form,
// "/tensorflow/serving/request_count"; ok is false if there is no such metric.
func (s Snapshot) Sum(name string) (sum float64, ok bool) {
	f, ok := s[strings.ReplaceAll(name, "/", ":")]
	for _, m := range f.GetMetric() {
		sum += value(m)
	}
	return sum, ok
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

// code is the name of an error's status, as TensorFlow writes it: "OK", "INVALID_ARGUMENT".
func code(err error) string {
	c := status.Code(err)
	if name, ok := for_core_protos_go_proto.Code_name[int32(c)]; ok {
		return name
	}
	return codes.Unknown.String()
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
