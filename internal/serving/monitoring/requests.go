package monitoring

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/prometheus/client_golang/prometheus"
)

// unknown stands for all models, versions and signatures that do not exist.
const unknown = "(unknown)"

// own are metrics by version and signature, which TensorFlow Serving does not have.
type own struct {
	byVersion *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
}

func newOwn(reg *prometheus.Registry) own {
	o := own{
		byVersion: counter("goestimator_serving_requests_total", "Requests by version and signature.", "model", "version", "signature", "api", "entrypoint", "code"),
		seconds: histogram("goestimator_serving_request_seconds", "Seconds of a request, by version and signature.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 13), "model", "version", "signature"),
	}
	reg.MustRegister(o.byVersion, o.seconds)
	return o
}

// Done implements inference.Observer.
func (r *Registry) Done(c inference.Call) {
	model := label(c.Model)
	if c.ID.Name == "" && (r.known == nil || !r.known(c.Model)) {
		model = unknown
	}
	r.requests.WithLabelValues(model, code(c.Err)).Inc()
	version, signature := unknown, unknown
	if c.ID.Name != "" {
		version = strconv.FormatInt(c.ID.Version, 10)
		if c.Err == nil || c.Runtime > 0 {
			signature = label(c.Signature)
		}
	}
	r.byVersion.WithLabelValues(model, version, signature, c.API, c.Entrypoint, code(c.Err)).Inc()
	if c.Err != nil {
		return
	}
	r.latency.WithLabelValues(model, api(c.API, c.Entrypoint), c.Entrypoint).Observe(micros(c.Latency))
	r.seconds.WithLabelValues(model, version, signature).Observe(c.Latency.Seconds())
	if c.Runtime > 0 {
		r.runtime.WithLabelValues(model, api(c.API, c.Entrypoint), "TF1").Observe(micros(c.Runtime))
	}
	if c.Examples > 0 {
		r.exampleCounts.WithLabelValues(model).Observe(float64(c.Examples))
		r.exampleTotal.WithLabelValues(model).Add(float64(c.Examples))
	}
}

// Remove drops the series of a version that was unloaded from dir, so that a long-lived server does not keep the series of every
// version it ever had.
func (r *Registry) Remove(id servable.ID, dir string) {
	of := prometheus.Labels{"model": label(id.Name), "version": strconv.FormatInt(id.Version, 10)}
	r.byVersion.DeletePartialMatch(of)
	r.seconds.DeletePartialMatch(of)
	r.shadows.forget(of)
	r.batches.forget(of)
	at := prometheus.Labels{"model_path": label(dir)}
	r.warmUp.DeletePartialMatch(at)
	r.loads.DeletePartialMatch(at)
	r.loadLatency.DeletePartialMatch(at)
}
