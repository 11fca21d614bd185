package sidecar

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
)

// Dir returns the folder in model_dir for the events of evaluations of that name, "" for the unnamed one.
func Dir(modelDir, name string) string {
	if name == "" {
		return filepath.Join(modelDir, "eval")
	}
	return filepath.Join(modelDir, "eval_"+name)
}

// Record appends an evaluation to events: scalars, other metrics as tensors, and the
// checkpoint's path. When it returns, they are on disk.
func Record(w summary.Writer, step int64, metrics map[string]*tensor.Tensor, checkpoint string) error {
	var values []*summary.Value
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		t := metrics[name]
		if len(t.Shape) == 0 {
			values = append(values, summary.Scalar(name, t.Float(0)))
			continue
		}
		v, err := summary.Tensor(name, "", t)
		if err != nil {
			return fmt.Errorf("metric %s: %w", name, err)
		}
		values = append(values, v)
	}
	values = append(values, summary.Text("checkpoint_path", checkpoint))
	return errors.Join(w.Values(step, values...), w.Flush())
}

// LastEvaluated returns the step of the last evaluation in a folder of events, -1 for none.
func LastEvaluated(dir string) int64 {
	all, err := summary.ReadScalars(dir)
	if err != nil || len(all) == 0 {
		return -1
	}
	return slices.Max(all.Steps())
}
