package distribute

import (
	"fmt"
	"slices"
	"strings"
)

// Config chooses a strategy and how its programs run.
type Config struct {
	Name          string // "default", "one_device"
	Device        string // of one_device: "/cpu:0"; "" is the first one
	Threads       int    // threads of the kernels; 0: one per core
	CheckNumerics bool   // name the first node that makes a NaN or an infinity
}

// names are the strategies of the design; those that New does not make are refused by it.
var names = []string{"default", "one_device", "mirrored", "central_storage", "multi_worker_mirrored", "parameter_server", "tpu"}

// Validate reports a strategy that does not exist or cannot run here.
func (c Config) Validate() error {
	_, err := c.device()
	return err
}

// device returns the name of the device that a local strategy runs on.
func (c Config) device() (string, error) {
	switch c.Name {
	case "", "default":
		if c.Device != "" {
			return "", fmt.Errorf("strategy default takes no device, got %q: use one_device", c.Device)
		}
		return "/cpu:0", nil
	case "one_device":
		switch strings.ToLower(strings.TrimPrefix(c.Device, "/device:")) {
		case "", "/cpu:0", "cpu:0":
			return "/cpu:0", nil
		}
		return "", fmt.Errorf("strategy one_device: no device %q here: expected /cpu:0", c.Device)
	case "tpu":
		return "", fmt.Errorf("strategy tpu: no TPU runtime is present: choose default")
	}
	if slices.Contains(names, c.Name) {
		return "", fmt.Errorf("strategy %s needs more than one device or process, which this build cannot drive yet: choose default or one_device", c.Name)
	}
	return "", fmt.Errorf("unknown strategy %q: expected one of %s", c.Name, strings.Join(names, ", "))
}
