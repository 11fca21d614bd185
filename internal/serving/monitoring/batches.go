package monitoring

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/prometheus/client_golang/prometheus"
)

// batches are the metrics of batching: TensorFlow Serving's, summed over all models, and ours by version.
type batches struct {
	queuing   *prometheus.HistogramVec
	padding   prometheus.Histogram
	input     prometheus.Histogram
	processed prometheus.Histogram
	runs      prometheus.Counter

	ran     *prometheus.CounterVec
	rows    *prometheus.CounterVec
	padded  *prometheus.CounterVec
	tasks   *prometheus.CounterVec
	waiting *prometheus.HistogramVec
	running *prometheus.HistogramVec
}

func newBatches(reg *prometheus.Registry) batches {
	const session = tfs + "batching_session:"
	sizes := prometheus.ExponentialBuckets(1, 2, 13)
	seconds := prometheus.ExponentialBuckets(0.0001, 2.5, 13)
	plain := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: session + name, Help: help, Buckets: sizes})
	}
	b := batches{
		queuing:   histogram(session+"queuing_latency", "Microseconds in the queue.", prometheus.ExponentialBuckets(100, 1.2, 52), "thread_pool_name"),
		padding:   plain("padding_size", "Rows added to a batch to reach an allowed size."),
		input:     plain("input_batch_size", "Rows of a request."),
		processed: plain("processed_batch_size", "Rows of a batch, with padding."),
		runs:      prometheus.NewCounter(prometheus.CounterOpts{Name: session + "wrapped_run_count", Help: "Batches."}),
		ran:       counter("goestimator_batching_batches_total", "Batches by outcome.", "model", "version", "code"),
		rows:      counter("goestimator_batching_rows_total", "Rows of requests in batches.", "model", "version"),
		padded:    counter("goestimator_batching_padding_rows_total", "Rows added to batches.", "model", "version"),
		tasks:     counter("goestimator_batching_requests_total", "Requests in batches.", "model", "version"),
		waiting:   histogram("goestimator_batching_queue_seconds", "Seconds in the queue.", seconds, "model", "version"),
		running:   histogram("goestimator_batching_run_seconds", "Seconds of a batch in the model.", seconds, "model", "version"),
	}
	reg.MustRegister(b.queuing, b.padding, b.input, b.processed, b.runs, b.ran, b.rows, b.padded, b.tasks, b.waiting, b.running)
	return b
}

// Batch implements batching.Observer.
func (b *batches) Batch(r batching.BatchStats) {
	model, version := label(r.Model.Name), strconv.FormatInt(r.Model.Version, 10)
	for _, w := range r.Waits {
		b.queuing.WithLabelValues(label(r.Pool)).Observe(micros(w))
		b.waiting.WithLabelValues(model, version).Observe(w.Seconds())
	}
	for _, n := range r.Tasks {
		b.input.Observe(float64(n))
	}
	b.padding.Observe(float64(r.Padding))
	b.processed.Observe(float64(r.Rows + r.Padding))
	b.runs.Inc()
	b.ran.WithLabelValues(model, version, code(r.Err)).Inc()
	b.rows.WithLabelValues(model, version).Add(float64(r.Rows))
	b.padded.WithLabelValues(model, version).Add(float64(r.Padding))
	b.tasks.WithLabelValues(model, version).Add(float64(len(r.Tasks)))
	b.running.WithLabelValues(model, version).Observe(r.Run.Seconds())
}

func (b *batches) forget(of prometheus.Labels) {
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{b.ran, b.rows, b.padded, b.tasks, b.waiting, b.running} {
		v.DeletePartialMatch(of)
	}
}
