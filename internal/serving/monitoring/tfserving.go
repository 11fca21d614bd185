package monitoring

import (
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/prometheus/client_golang/prometheus"
)

// serving are the metrics of TensorFlow Serving; names, labels and buckets are its own.
type serving struct {
	requests      *prometheus.CounterVec
	latency       *prometheus.HistogramVec
	runtime       *prometheus.HistogramVec
	exampleCounts *prometheus.HistogramVec
	exampleTotal  *prometheus.CounterVec
	logged        *prometheus.CounterVec
	warmUp        *prometheus.HistogramVec
	loads         *prometheus.CounterVec
	loadLatency   *prometheus.CounterVec
}

const tfs = ":tensorflow:serving:"

func newServing(reg *prometheus.Registry) serving {
	buckets := prometheus.ExponentialBuckets(10, 1.8, 33)
	s := serving{
		requests:      counter(tfs+"request_count", "Requests by model and status.", "model_name", "status"),
		latency:       histogram(tfs+"request_latency", "Microseconds of a request.", buckets, "model_name", "API", "entrypoint"),
		runtime:       histogram(tfs+"runtime_latency", "Microseconds of a request inside the model.", buckets, "model_name", "API", "runtime"),
		exampleCounts: histogram(tfs+"request_example_counts", "Examples of a request.", prometheus.ExponentialBuckets(1, 2, 15), "model"),
		exampleTotal:  counter(tfs+"request_example_count_total", "Examples of all requests.", "model"),
		logged:        counter(tfs+"request_log_count", "Requests that were to be logged, by outcome.", "model_name", "status_code"),
		warmUp:        histogram(tfs+"model_warmup_latency", "Microseconds of warming up a model.", buckets, "model_path", "status"),
		loads:         counter(":tensorflow:cc:saved_model:load_attempt_count", "Models loaded, by outcome.", "model_path", "status"),
		loadLatency:   counter(":tensorflow:cc:saved_model:load_latency", "Microseconds of loading models.", "model_path"),
	}
	reg.MustRegister(s.requests, s.latency, s.runtime, s.exampleCounts, s.exampleTotal, s.logged, s.warmUp, s.loads, s.loadLatency)
	return s
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// WarmedUp records that the model in dir was warmed up.
func (s *serving) WarmedUp(dir string, took time.Duration, err error) {
	s.warmUp.WithLabelValues(label(dir), code(err)).Observe(micros(took))
}

// Loaded records an attempt to load the model in dir.
func (s *serving) Loaded(dir string, took time.Duration, err error) {
	outcome := "success"
	if err != nil {
		outcome = "fail"
	}
	s.loads.WithLabelValues(label(dir), outcome).Inc()
	s.loadLatency.WithLabelValues(label(dir)).Add(micros(took))
}

// Logged records that a request of a model was written to its log, or why not.
func (s *serving) Logged(model string, err error) {
	s.logged.WithLabelValues(label(model), code(err)).Inc()
}

// label makes a name printable for use as a label's value: names come from requests, configs, models and folders, and
// metrics are also read on terminals.
func label(name string) string { return printable.Text(name) }

// api is the API label of TensorFlow Serving.
func api(name, entrypoint string) string {
	if entrypoint == "REST" {
		return strings.ToLower(name)
	}
	return name
}
