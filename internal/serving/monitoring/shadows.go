package monitoring

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/serving/shadow"
	"github.com/prometheus/client_golang/prometheus"
)

// shadows are the metrics of copies of requests.
type shadows struct {
	copies     *prometheus.CounterVec
	took       *prometheus.HistogramVec
	difference *prometheus.HistogramVec
}

func newShadows(reg *prometheus.Registry) shadows {
	s := shadows{
		copies: counter("goestimator_serving_shadow_requests_total", "Copies of requests by the version that got them and what came of them.", "model", "version", "outcome"),
		took: histogram("goestimator_serving_shadow_request_seconds", "Seconds in which a version answered a copy.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 13), "model", "version"),
		difference: histogram("goestimator_serving_shadow_difference", "Largest difference between the numbers of two answers, relative; infinite where they have another form.",
			prometheus.ExponentialBuckets(1e-7, 10, 8), "model", "version"),
	}
	reg.MustRegister(s.copies, s.took, s.difference)
	return s
}

// Shadowed implements shadow.Observer.
func (s *shadows) Shadowed(r shadow.Result) {
	model, version := label(r.ID.Name), strconv.FormatInt(r.ID.Version, 10)
	s.copies.WithLabelValues(model, version, string(r.Outcome)).Inc()
	if r.Outcome == shadow.Same || r.Outcome == shadow.Different {
		s.took.WithLabelValues(model, version).Observe(r.Latency.Seconds())
		s.difference.WithLabelValues(model, version).Observe(r.Difference)
	}
}

func (s *shadows) forget(of prometheus.Labels) {
	s.copies.DeletePartialMatch(of)
	s.took.DeletePartialMatch(of)
	s.difference.DeletePartialMatch(of)
}
