package estimator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// An Exporter decides after each evaluation of TrainAndEvaluate whether the
// model is exported, and exports it.
type Exporter interface {
	// Name is the folder of its exports below model_dir/export.
	Name() string
	// Export may export the evaluated model to a new folder in base. It returns the folder with this evaluation's
	// export, "" for none. It is called again for an evaluation whose export was interrupted.
	Export(ctx context.Context, e *Estimator, base string, ev Evaluation) (dir string, err error)
}

// Evaluation is the input of an Exporter's decision.
type Evaluation struct {
	EvalResult
	Name  string // of the evaluation
	Final bool   // training is over
	// Restored says that the step has the weights of the best evaluation. An earlier evaluation of the same step may have seen the step's own weights.
	Restored bool
}

// ExporterOptions are the options of all exporters. They work as in tf.estimator,
// except that a run that is started again knows its earlier exports.
type ExporterOptions struct {
	Name    string
	Serving ServingInput
	Options []ExportOption
	// Keep is the number of newest exports to keep; 0: 5, -1: all. Final and steps exporters ignore it.
	Keep int
}

// NewFinalExporter exports once, when training is over.
func NewFinalExporter(o ExporterOptions) (Exporter, error) {
	o.Keep = -1
	return newExporter(o, func(_ *Estimator, _ exportState, ev Evaluation) (bool, error) { return ev.Final, nil })
}

// NewLatestExporter exports after every evaluation.
func NewLatestExporter(o ExporterOptions) (Exporter, error) {
	return newExporter(o, func(*Estimator, exportState, Evaluation) (bool, error) { return true, nil })
}

// NewStepsExporter exports after the first evaluation at or after each of steps.
func NewStepsExporter(o ExporterOptions, steps ...int64) (Exporter, error) {
	if len(steps) == 0 || slices.Min(steps) < 0 {
		return nil, fmt.Errorf("exporter %q: steps %v: expected at least one, and none below 0", o.Name, steps)
	}
	o.Keep = -1
	return newExporter(o, func(_ *Estimator, st exportState, ev Evaluation) (bool, error) {
		return slices.ContainsFunc(steps, func(s int64) bool { return st.Step < s && s <= ev.GlobalStep }), nil
	})
}

// NewBestExporter exports when a metric is better than in all evaluations before,
// including earlier runs. metric "" means loss.
func NewBestExporter(o ExporterOptions, metric string, higherIsBetter bool) (Exporter, error) {
	if metric == "" {
		metric = "loss"
	}
	b := best{metric: metric, higher: higherIsBetter}
	x, err := newExporter(o, b.improved)
	if err != nil {
		return nil, err
	}
	x.best = &b
	return x, nil
}

// best compares evaluations by a metric.
type best struct {
	metric string
	higher bool
}

func (b best) String() string {
	if b.higher {
		return "highest " + b.metric
	}
	return "lowest " + b.metric
}

// improved reports whether an evaluation is the best one. A metric that is not
// finite, as after training diverged, never is.
func (b best) improved(e *Estimator, st exportState, ev Evaluation) (bool, error) {
	v, ok := ev.Scalar(b.metric)
	if !ok {
		return false, fmt.Errorf("no scalar metric %q: expected one of %v", b.metric, sortedKeys(ev.Metrics))
	}
	before := math.NaN()
	if st.Best != nil && st.Rule == b.String() {
		before = *st.Best
	} else if st.Dir != "" {
		before = b.recorded(e, ev)
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return false, nil
	case math.IsNaN(before):
		return true, nil
	case b.higher:
		return v > before, nil
	}
	return v < before, nil
}

// recorded returns the best value in the events of earlier evaluations, NaN for none.
// It is used for exports that tf.estimator wrote, or that were the best by another
// metric.
func (b best) recorded(e *Estimator, ev Evaluation) float64 {
	all, err := summary.ReadScalars(e.EvalDir(ev.Name))
	found := math.NaN()
	if err != nil {
		return found
	}
	for step, values := range all {
		v, ok := values[b.metric]
		if ok && step < ev.GlobalStep && !math.IsInf(v, 0) && (math.IsNaN(found) || b.higher == (v > found)) {
			found = v
		}
	}
	return found
}

// exporter exports the evaluations that its rule selects.
type exporter struct {
	ExporterOptions
	rule func(*Estimator, exportState, Evaluation) (bool, error)
	best *best // the rule whose best value is kept; nil: none
}

func newExporter(o ExporterOptions, rule func(*Estimator, exportState, Evaluation) (bool, error)) (*exporter, error) {
	if o.Name == "" || o.Name != filepath.Base(o.Name) || o.Name[0] == '.' {
		return nil, fmt.Errorf("exporter %q: expected the name of a folder", o.Name)
	}
	if o.Keep < -1 {
		return nil, fmt.Errorf("exporter %q: exports_to_keep: expected > 0, got %d", o.Name, o.Keep)
	}
	if o.Keep == 0 {
		o.Keep = 5
	}
	return &exporter{ExporterOptions: o, rule: rule}, nil
}

// Name implements Exporter.
func (x *exporter) Name() string { return x.ExporterOptions.Name }

// Export implements Exporter.
func (x *exporter) Export(ctx context.Context, e *Estimator, base string, ev Evaluation) (string, error) {
	dir, err := x.export(ctx, e, base, ev)
	if err != nil {
		return "", fmt.Errorf("exporter %s: %w", x.Name(), err)
	}
	return dir, nil
}

func (x *exporter) export(ctx context.Context, e *Estimator, base string, ev Evaluation) (string, error) {
	st, err := readExportState(base)
	if err != nil {
		return "", err
	}
	if st.Dir != "" && st.Step == ev.GlobalStep && (st.Restored || !ev.Restored) {
		return st.path(base), x.seen(base, st, ev)
	}
	wanted, err := x.rule(e, st, ev)
	if err != nil {
		return "", err
	}
	if !wanted {
		return "", x.seen(base, st, ev)
	}
	opts := append(slices.Clone(x.Options), ExportCheckpoint(ev.Checkpoint))
	dir, err := e.ExportSavedModel(ctx, base, x.Serving, opts...)
	if err != nil && !ev.Final && deleted(ev.Checkpoint) {
		e.log.Warn("the checkpoint was deleted while it was evaluated, and is not exported: let training keep more of them", "exporter", x.Name(), "checkpoint", ev.Checkpoint)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	st.Step, st.Dir, st.Restored = ev.GlobalStep, filepath.Base(dir), ev.Restored
	if x.best != nil {
		if v, ok := ev.Scalar(x.best.metric); ok {
			st.Best, st.Rule = &v, x.best.String()
		}
	}
	return dir, errors.Join(x.seen(base, st, ev), x.collect(base))
}

// deleted reports whether a checkpoint no longer exists.
func deleted(prefix string) bool {
	_, err := os.Stat(bundle.IndexPath(prefix))
	return errors.Is(err, os.ErrNotExist)
}

// seen records that an evaluation was handled.
func (x *exporter) seen(base string, st exportState, ev Evaluation) error {
	st.Seen, st.Final = ev.GlobalStep, ev.Final
	return st.write(base)
}

// done reports whether the last evaluation, of that step, was handled.
func (x *exporter) done(base string, step int64) bool {
	st, err := readExportState(base)
	return err == nil && st.Final && st.Seen >= step
}

var exportName = regexp.MustCompile(`^\d{10}$`)

// abandonedAfter is the age at which the unfinished directory of an export counts as abandoned by a
// killed process.
const abandonedAfter = 24 * time.Hour

// collect removes the oldest exports and the remains of interrupted ones. Each disappears atomically, since a
// server may poll base.
func (x *exporter) collect(base string) error {
	names, err := exports(base)
	if err != nil {
		return err
	}
	if x.Keep >= 0 && len(names) > x.Keep {
		for _, name := range names[:len(names)-x.Keep] {
			gone := filepath.Join(base, savedmodel.TempPrefix+"removed-"+name)
			if err := os.Rename(filepath.Join(base, name), gone); err != nil {
				return fmt.Errorf("removing an old export: %w", err)
			}
			if err := os.RemoveAll(gone); err != nil {
				return fmt.Errorf("removing an old export: %w", err)
			}
		}
	}
	return removeAbandoned(base)
}

func removeAbandoned(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, f := range entries {
		if !f.IsDir() || !strings.HasPrefix(f.Name(), savedmodel.TempPrefix) {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, os.ErrNotExist) || err == nil && time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		if err := errors.Join(err, os.RemoveAll(filepath.Join(base, f.Name()))); err != nil {
			return fmt.Errorf("removing what an export that was killed left: %w", err)
		}
	}
	return nil
}

// exports returns the names of the exports in base, the oldest first, and none if base does not exist.
func exports(base string) ([]string, error) {
	names, err := atomicfile.OS{}.ReadDir(base)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(n string) bool { return !exportName.MatchString(n) }), err
}
