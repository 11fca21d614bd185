package monitoring

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/prometheus/client_golang/prometheus"
)

// usage shows the resources of the available versions. It implements prometheus.Collector.
type usage struct {
	catalog              servable.Catalog
	meter                servable.Meter
	memory, queue, since *prometheus.Desc
	share, shadow        *prometheus.Desc
}

// Usage shows the resources that the available versions of a catalog's models use, as m measures them.
func (r *Registry) Usage(c servable.Catalog, m servable.Meter) error {
	of := []string{"model", "version"}
	return r.reg.Register(usage{c, m,
		prometheus.NewDesc("goestimator_serving_model_memory_bytes", "Bytes that a loaded version holds between requests.", of, nil),
		prometheus.NewDesc("goestimator_serving_model_queue", "Requests (with batching: rows) that wait for their turn in a version.", of, nil),
		prometheus.NewDesc("goestimator_serving_model_available_timestamp_seconds", "Unix time at which a version became available.", of, nil),
		prometheus.NewDesc("goestimator_serving_model_traffic_share", "Part of the requests naming no version that a version gets.", of, nil),
		prometheus.NewDesc("goestimator_serving_model_shadow_share", "Part of the requests to other versions that a version gets copies of.", of, nil)})
}

// Build shows what the server was built from, as labels of a gauge that is 1.
func (r *Registry) Build(version, build string) error {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "goestimator_build_info", Help: "What the server was built from: the labels of a 1.",
		ConstLabels: prometheus.Labels{"version": label(version), "build": label(build)}})
	g.Set(1)
	return r.reg.Register(g)
}

// Describe implements prometheus.Collector.
func (u usage) Describe(to chan<- *prometheus.Desc) {
	to <- u.memory
	to <- u.queue
	to <- u.since
	to <- u.share
	to <- u.shadow
}

// Collect implements prometheus.Collector.
func (u usage) Collect(to chan<- prometheus.Metric) {
	for _, name := range u.catalog.Models() {
		for version, v := range u.meter.Usage(name) {
			gauge := func(d *prometheus.Desc, x float64) {
				to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, label(name), strconv.FormatInt(version, 10))
			}
			gauge(u.memory, float64(v.Memory))
			gauge(u.queue, float64(v.Queue))
			gauge(u.since, float64(v.Since.UnixMilli())/1000)
			gauge(u.share, v.Share)
			gauge(u.shadow, v.Shadow)
		}
	}
}
