package status

import (
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/status"
)

// metrics are a task's metrics for Prometheus. Names that clients choose, such as a variable's, are not used as labels.
type metrics struct {
	registry *prometheus.Registry
	handled  *prometheus.CounterVec
	taking   *prometheus.HistogramVec
}

func newMetrics(now func() State) metrics {
	labels := []string{"grpc_service", "grpc_method"}
	m := metrics{
		registry: prometheus.NewRegistry(),
		handled:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "grpc_server_handled_total", Help: "Calls that ended, by status."}, append(labels, "grpc_code")),
		taking:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "grpc_server_handling_seconds", Help: "Seconds of a call.", Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13)}, labels),
	}
	m.registry.MustRegister(m.handled, m.taking, gauges{now}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m metrics) add(c calls.Call) {
	m.handled.WithLabelValues(c.Service, c.Method, status.Code(c.Err).String()).Inc()
	m.taking.WithLabelValues(c.Service, c.Method).Observe(c.Took.Seconds())
}

// gauges are the numbers of a State.
type gauges struct{ now func() State }

// gauge is a number of a State with its name.
type gauge struct {
	name, help string
	value      func(s State) float64
}

var all = []gauge{
	{"sessions", "Sessions that the task is the master of.", func(s State) float64 { return float64(len(s.Sessions)) }},
	{"graphs", "Parts of graphs that are registered.", func(s State) float64 { return float64(s.Graphs.Count) }},
	{"graph_bytes", "Bytes of these.", func(s State) float64 { return float64(s.Graphs.Bytes) }},
	{"steps_running", "Calls that run steps now.", func(s State) float64 { return float64(s.Steps.Running) }},
	{"variables", "Variables.", func(s State) float64 { return float64(len(s.Variables)) }},
	{"variable_bytes", "Bytes of the variables.", func(s State) float64 {
		n := 0
		for _, v := range s.Variables {
			n += v.Bytes
		}
		return float64(n)
	}},
	{"queues", "Queues.", func(s State) float64 { return float64(len(s.Queues)) }},
	{"queue_elements", "Elements in the queues.", func(s State) float64 {
		n := 0
		for _, q := range s.Queues {
			n += q.Size
		}
		return float64(n)
	}},
	{"memory_held_bytes", "Bytes that tensors, variables, graphs and messages hold.", func(s State) float64 { return float64(s.Memory.Held) }},
	{"memory_limit_bytes", "Bytes that they may hold.", func(s State) float64 { return float64(s.Memory.Limit) }},
	{"connections", "Connections of clients and other tasks.", func(s State) float64 { return float64(s.Connections) }},
	{"peers_ready", "Other tasks that a connection is open to.", func(s State) float64 {
		n := 0
		for _, p := range s.Peers {
			if strings.EqualFold(p.State, "ready") {
				n++
			}
		}
		return float64(n)
	}},
	{"idle_seconds", "Seconds for which nobody has used the task.", func(s State) float64 { return s.Idle }},
}

func (g gauge) desc() *prometheus.Desc {
	return prometheus.NewDesc("goestimator_cluster_"+g.name, g.help, nil, nil)
}

// Describe implements prometheus.Collector.
func (gauges) Describe(out chan<- *prometheus.Desc) {
	for _, g := range all {
		out <- g.desc()
	}
}

// Collect implements prometheus.Collector.
func (c gauges) Collect(out chan<- prometheus.Metric) {
	s := c.now()
	for _, g := range all {
		out <- prometheus.MustNewConstMetric(g.desc(), prometheus.GaugeValue, g.value(s))
	}
}
