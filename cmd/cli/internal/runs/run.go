package runs

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
)

// Run describes a model_dir.
type Run struct {
	Name string // path below the folder that was searched
	Dir  string
	State
	Metrics map[string]Metric // of its evaluations; of training if there are none
	Config  map[string]string // leaves of config.yaml as text, by key; nil: no config
	Size    int64             // bytes
	Changed time.Time
	Damage  error // of event files that could only be read in part
}

// Metric is a scalar over the steps of a run. Values that are not finite count only for Last.
type Metric struct {
	Last, Best, Least, Most     float64
	At, BestAt, LeastAt, MostAt int64 // steps of these values
}

// Load reads a model_dir below a folder that was searched.
func Load(root, dir string) (Run, error) {
	r := Run{Name: Name(root, dir), Dir: dir}
	var err error
	if r.State, err = ReadState(dir); err != nil {
		return r, err
	}
	if r.Config, err = readConfig(filepath.Join(dir, "config.yaml")); err != nil {
		return r, err
	}
	if r.Size, r.Changed, err = measure(dir); err != nil {
		return r, err
	}
	f := events.Follow(dir)
	_, r.Damage = f.Poll()
	curves := f.Curves()
	r.Seconds = max(r.Seconds, f.Seconds())
	r.Metrics = metricsOf(curves)
	r.Step = max(r.Step, LastStep(curves))
	return r, nil
}

// Name is the name of a model_dir relative to the folder that was searched.
func Name(root, dir string) string {
	if name, err := filepath.Rel(root, dir); err == nil && name != "." {
		return filepath.ToSlash(name)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return filepath.Base(abs)
	}
	return filepath.Base(dir)
}

// LastStep is the greatest step of the curves; -1 if there are none.
func LastStep(curves []*events.Curve) int64 {
	step := int64(-1)
	for _, c := range curves {
		step = max(step, c.Steps[len(c.Steps)-1])
	}
	return step
}

// metricsOf are the metrics of evaluations; of training if there are none. If several evaluations have the same metric,
// the first by name counts.
func metricsOf(curves []*events.Curve) map[string]Metric {
	out := map[string]Metric{}
	for _, evaluations := range []bool{true, false} {
		for _, c := range curves {
			if _, known := out[c.Tag]; !known && (c.Run != ".") == evaluations {
				out[c.Tag] = metricOf(c)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

func metricOf(c *events.Curve) Metric {
	n := len(c.Steps) - 1
	last, at := c.Values[n], c.Steps[n]
	m := Metric{Last: last, At: at, Least: math.Inf(1), Most: math.Inf(-1)}
	for i, x := range c.Values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if x < m.Least {
			m.Least, m.LeastAt = x, c.Steps[i]
		}
		if x > m.Most {
			m.Most, m.MostAt = x, c.Steps[i]
		}
	}
	if m.Least > m.Most {
		m.Least, m.Most, m.LeastAt, m.MostAt = last, last, at, at
	}
	if m.Best, m.BestAt = m.Most, m.MostAt; lower(c.Tag) {
		m.Best, m.BestAt = m.Least, m.LeastAt
	}
	return m
}

// lower reports by its name whether lower values of a metric are better, as for losses and errors.
func lower(metric string) bool {
	name := strings.ToLower(metric)
	return slices.ContainsFunc([]string{"loss", "error", "rmse", "mse", "mae", "perplexity", "false_", "divergence", "hinge", "crossentropy", "cross_entropy"},
		func(word string) bool { return strings.Contains(name, word) })
}

// MainMetric is the metric to compare runs by: the metric of a config's sweep or early stopping, else accuracy, else
// loss, else the first metric by name; "" if no run has metrics.
func MainMetric(all []Run) string {
	have := map[string]bool{}
	for _, r := range all {
		for name := range r.Metrics {
			have[name] = true
		}
	}
	wanted := []string{}
	for _, key := range []string{"sweep.metric", "train.early_stopping.metric"} {
		for _, r := range all {
			wanted = append(wanted, r.Config[key])
		}
	}
	for _, name := range append(wanted, "accuracy", "loss") {
		if have[name] {
			return name
		}
	}
	first := ""
	for name := range have {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}

// All loads every run below the folders, in the order of the folders and names. Runs that cannot be
// read are reported in the error; the others are returned.
func All(roots []string) ([]Run, error) {
	var out []Run
	var errs []error
	seen := map[string]bool{}
	for _, root := range roots {
		dirs, err := Find(root)
		errs = append(errs, err)
		for _, dir := range dirs {
			if abs, err := filepath.Abs(dir); err == nil && seen[abs] {
				continue
			} else if err == nil {
				seen[abs] = true
			}
			r, err := Load(cmp.Or(root, "."), dir)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrPermission) {
				errs = append(errs, err)
				continue
			}
			if err != nil {
				r.Damage = errors.Join(r.Damage, err)
			}
			out = append(out, r)
		}
	}
	return out, errors.Join(errs...)
}
