package canned

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"

	"github.com/goestimator/goestimator/models/optimizers"
)

// TestSDCAChangesIDsOnlyForNewExamples: strategies copy only changed variables, and only their changed
// rows.
func TestSDCAChangesIDsOnlyForNewExamples(t *testing.T) {
	config, err := json.Marshal(sdcaStep{Loss: squaredLoss, L2: 1, Partitions: 1, Capacity: 6, Columns: []sdcaColumn{{Variable: "bias", Rows: 1, Bias: true}}})
	if err != nil {
		t.Fatal(err)
	}
	run, err := optimizers.NewStepRun("sdca", config)
	if err != nil {
		t.Fatal(err)
	}
	vars := optimizers.NewStepValues(map[string]*tensor.Tensor{"bias": tensor.New(tensor.Float32, 1, 1), "bias_unshrunk": tensor.New(tensor.Float32, 1, 1),
		sdcaIDs: tensor.New(tensor.Int64, 6), sdcaState: tensor.New(tensor.Float32, 6, 4),
		sdcaTotals: tensor.New(tensor.Float64, 3)})
	for _, c := range []struct {
		ids   []int64
		want  bool
		total int // examples so far, each of weight 1
	}{{[]int64{5, 7}, true, 2}, {[]int64{7, 5}, false, 2}, {[]int64{7, 8}, true, 3}, {nil, false, 3}} {
		labels, weights := make([]float32, len(c.ids)), make([]float32, len(c.ids))
		for i := range c.ids {
			labels[i], weights[i] = float32(i+1), 1
		}
		args := []*tensor.Tensor{tensorOf(t, labels), tensorOf(t, weights), tensorOf(t, c.ids)}
		var tally optimizers.Tally
		if err := run.Begin(vars, &tally); err != nil {
			t.Fatal(err)
		}
		if err := run.Collect(vars, args, &tally); err != nil {
			t.Fatal(err)
		}
		if err := run.Apply(vars, &tally); err != nil {
			t.Fatal(err)
		}
		if rows, all := vars.ChangedRows(sdcaState); all || len(rows) != len(c.ids) {
			t.Errorf("examples %v: rows %v of the state changed, all: %v", c.ids, rows, all)
		}
		if got := slices.Contains(vars.Changed(), sdcaIDs); got != c.want {
			t.Errorf("examples %v: the ids changed: %v, expected %v", c.ids, got, c.want)
		}
		table := exampleTable{tensor.Values[int64](vars.Value(sdcaIDs)), tensor.Values[float32](vars.Value(sdcaState))}
		if total := tensor.Values[float64](vars.Value(sdcaTotals))[2]; total != float64(c.total) {
			t.Errorf("examples %v: a total weight of %v, expected %d", c.ids, total, c.total)
		}
		for _, id := range c.ids {
			if at, err := table.room(id); err != nil || table.ids[at] != id {
				t.Errorf("example %d is not known", id)
			}
		}
	}
}

func tensorOf[T tensor.Element](t *testing.T, v []T) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
