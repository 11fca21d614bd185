package distribute

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/nccl"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/runconfig"
)

// Config chooses a strategy and how its programs run.
type Config struct {
	runconfig.Strategy
	Threads       int           // threads of the kernels; 0: one per core
	InterOp       int           // replicas of this process that compute at the same time; 0: all
	CheckNumerics bool          // name the first node that produces a NaN or an infinity
	Precision     string        // of a GPU, as in runconfig.SessionConfig; the host computes in float32 or float64
	HardPlacement bool          // refuse ops for which a GPU has no kernel, instead of running them on the host
	Devices       *gpus.Chooser // opens GPUs; nil: this machine's
	Network       peers.Network // sums between the GPUs of workers; nil: NCCL
	Job           *Job          // the cluster of this task; nil: only this process
	Sessions      Sessions      // for parameter_server, on the chief; for strategy.elastic, on all workers
	Successor     Successor     // for strategy.elastic; nil: this worker cannot take the chief's place
	Ends          *Ends         // what this task knows of the end of the job; nil: nothing
}

// ConfigOf returns the Config for a RunConfig.
func ConfigOf(rc runconfig.RunConfig, devices *gpus.Chooser) Config {
	session := rc.Session()
	return Config{Strategy: rc.TrainDistribute(), Threads: session.IntraOpThreads, InterOp: session.InterOpThreads, CheckNumerics: session.CheckNumerics,
		Precision: session.Precision, HardPlacement: session.HardPlacement, Devices: devices}
}

// Successor is a worker that may take the chief's place.
type Successor interface {
	// TakeOver opens what the chief writes to. It fails as long as a chief has it open and has called Tend within silence.
	TakeOver(silence time.Duration) error
	// Tend is called periodically: the chief shows that it runs, and the others check this. Its error says why this task
	// has stopped being the chief.
	Tend() error
}

// New returns a strategy with no variables yet.
func New(c Config) (Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	kernels.SetThreads(c.Threads)
	c.Devices = c.devices()
	return kinds[c.Name].make(c)
}

// Validate reports an unknown strategy, or one that cannot run here.
func (c Config) Validate() error { return runconfig.Mistake(c.validate()) }

func (c Config) validate() error {
	k, ok := kinds[c.Name]
	if !ok {
		return fmt.Errorf("unknown strategy %q: expected one of %s", c.Name, strings.Join(names(), ", "))
	}
	if c.Name == "tpu" {
		_, err := k.make(c)
		return err
	}
	if _, err := gpus.Parse(c.Device); err != nil {
		return fmt.Errorf("strategy %s: %w", c.Name, err)
	}
	return nil
}

// network returns the network that sums between the GPUs of workers.
func (c Config) network() peers.Network {
	if c.Network != nil {
		return c.Network
	}
	return nccl.Network{}
}

// names returns the names of the strategies, sorted.
func names() []string {
	var out []string
	for name := range kinds {
		if name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
