package monitoring

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/format/pbtext"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// DefaultPath is the path of the metrics if the configuration names none.
const DefaultPath = "/monitoring/prometheus/metrics"

// Config says whether metrics are shown on the REST port, and at which path.
type Config struct {
	Enable bool
	Path   string
}

// ReadConfig reads TensorFlow Serving's --monitoring_config_file, a MonitoringConfig in text form.
func ReadConfig(path string) (Config, error) {
	text, err := atomicfile.ReadSmall(path)
	if err != nil {
		return Config{}, fmt.Errorf("monitoring config: %w", err)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConfig reads a MonitoringConfig in text form.
func ParseConfig(text []byte) (Config, error) {
	var m config.MonitoringConfig
	if err := pbtext.Unmarshal(text, &m); err != nil {
		return Config{}, fmt.Errorf("monitoring config: %w", err)
	}
	c := Config{Enable: m.GetPrometheusConfig().GetEnable(), Path: m.GetPrometheusConfig().GetPath()}
	if c.Path == "" {
		c.Path = DefaultPath
	}
	if !strings.HasPrefix(c.Path, "/") {
		return Config{}, fmt.Errorf("monitoring config: path %q: expected one that begins with /", c.Path)
	}
	return c, nil
}
