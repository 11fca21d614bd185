package runconfig

import (
	"fmt"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// Elastic lets workers of multi_worker_mirrored leave and join while the others continue to train, without a restart and
// without restoring a checkpoint.
type Elastic struct {
	// Smallest number of workers that train. 0: not elastic; all workers take part in every step, and a lost worker is waited for.
	Min int `yaml:"min,omitempty"`
	// Largest number of workers that the cluster may list. 0: no limit.
	Max int `yaml:"max,omitempty"`
	// global: the workers divide batch_size among them, and gradients are weighted by rows. per_worker: each worker takes batches of batch_size. Empty: global.
	Batch string `yaml:"batch,omitempty"`
	// batch per_worker: linear multiplies the learning rate by the number of workers, divided by their number when training began. none does not change the rate. Empty: none.
	ScaleLR string `yaml:"scale_lr,omitempty"`
	// Seconds that the first workers wait for all others. Then they begin without them if they are at least min. 0: 30.
	WaitSecs float64 `yaml:"wait_secs,omitempty"`
}

// The kinds of Elastic.Batch.
const (
	GlobalBatch    = "global"
	PerWorkerBatch = "per_worker"
)

// The kinds of Elastic.ScaleLR.
const (
	ScaleNone   = "none"
	ScaleLinear = "linear"
)

// Enabled reports whether workers may leave and join.
func (e Elastic) Enabled() bool { return e.Min > 0 }

// defaultElasticWaitSecs is also torchelastic's last-call timeout.
const defaultElasticWaitSecs = 30

// StartSecs is WaitSecs, or its default.
func (e Elastic) StartSecs() float64 {
	if e.WaitSecs > 0 {
		return e.WaitSecs
	}
	return defaultElasticWaitSecs
}

// InCluster returns an error if a cluster with that many workers cannot be elastic in this way.
func (e Elastic) InCluster(workers int) error {
	switch {
	case workers < e.Min:
		return fmt.Errorf("strategy.elastic.min is %d, but the cluster lists %d workers, the chief included: expected that many or more, as TF_CONFIG lists all that may come", e.Min, workers)
	case e.Max > 0 && workers > e.Max:
		return fmt.Errorf("strategy.elastic.max is %d, but the cluster lists %d workers, the chief included: expected at most that many", e.Max, workers)
	}
	return nil
}

func (e Elastic) validate(prefix string, vs *violation.List) {
	vs.Require(e.Min >= 0 && e.Min <= 1<<16, prefix+"min", e.Min, "expected 0 to 65536")
	vs.Require(e.Max >= 0 && e.Max <= 1<<16, prefix+"max", e.Max, "expected 0 to 65536")
	vs.Require(e.Max == 0 || e.Max >= e.Min, prefix+"max", e.Max, "expected 0, or strategy.elastic.min or more")
	if e.Batch != "" {
		vs.OneOf(prefix+"batch", e.Batch, GlobalBatch, PerWorkerBatch)
	}
	if e.ScaleLR != "" {
		vs.OneOf(prefix+"scale_lr", e.ScaleLR, ScaleNone, ScaleLinear)
	}
	vs.Require(e.ScaleLR != ScaleLinear || e.Batch == PerWorkerBatch, prefix+"scale_lr", e.ScaleLR,
		"expected none, or strategy.elastic.batch per_worker: a batch of all workers has as many rows as before")
	vs.Require(e.WaitSecs >= 0 && e.WaitSecs <= 1e6, prefix+"wait_secs", e.WaitSecs, "expected 0 to 1000000")
	off := Elastic{Min: e.Min}
	vs.Require(e.Enabled() || e == off, prefix+"min", e.Min, "expected 1 or more where other settings of strategy.elastic are set")
}
