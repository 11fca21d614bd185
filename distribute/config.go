package distribute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/kernels"
	"github.com/goestimator/goestimator/runconfig"
)

// Config chooses a strategy and how its programs run.
type Config struct {
	runconfig.Strategy
	Threads       int      // threads of the kernels; 0: one per core
	CheckNumerics bool     // name the first node that makes a NaN or an infinity
	Job           *Job     // the cluster that this task is in; nil: this process alone
	Sessions      Sessions // of parameter_server, on the chief
}

// strategies makes each strategy by its name.
var strategies = map[string]func(Config) (Strategy, error){
	"":                      newOneDevice,
	"default":               newOneDevice,
	"one_device":            newOneDevice,
	"mirrored":              func(c Config) (Strategy, error) { return newReplicated(c, c.localReplicas(), false, device.NewHost) },
	"central_storage":       func(c Config) (Strategy, error) { return newReplicated(c, c.localReplicas(), true, device.NewHost) },
	"multi_worker_mirrored": newMultiWorker,
	"parameter_server":      newParameterServer,
	"tpu": func(Config) (Strategy, error) {
		return nil, fmt.Errorf("strategy tpu: no TPU runtime is present: choose default")
	},
}

// New returns a strategy with no variables yet.
func New(c Config) (Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	kernels.SetThreads(c.Threads)
	return strategies[c.Name](c)
}

// Validate reports a strategy that does not exist or cannot run here.
func (c Config) Validate() error {
	if strategies[c.Name] == nil {
		return fmt.Errorf("unknown strategy %q: expected one of %s", c.Name, strings.Join(names(), ", "))
	}
	if c.Name == "tpu" {
		_, err := strategies[c.Name](c)
		return err
	}
	_, err := c.device()
	return err
}

// names are those of the strategies, sorted.
func names() []string {
	var out []string
	for name := range strategies {
		if name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// localReplicas is how many replicas mirrored and central_storage have here.
func (c Config) localReplicas() int { return max(c.Replicas, 1) }

// device returns the name of the device that a strategy runs on.
func (c Config) device() (string, error) {
	if c.Name != "one_device" {
		if c.Device != "" {
			return "", fmt.Errorf("strategy %s takes no device, got %q: use one_device", c.Name, c.Device)
		}
		return "/cpu:0", nil
	}
	switch strings.ToLower(strings.TrimPrefix(c.Device, "/device:")) {
	case "", "/cpu:0", "cpu:0":
		return "/cpu:0", nil
	}
	return "", fmt.Errorf("strategy one_device: no device %q here: expected /cpu:0", c.Device)
}
