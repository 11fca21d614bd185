package accept

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// The table of these tests, and its name in checkpoints.
const (
	tableRows, tableWidth = 10_000_000, 16
	tableIDs, tableBatch  = 40, 128
	tableName             = "embedding/embeddings"
	tableMB               = tableRows * tableWidth * 4 / 1_000_000 // and the same for Adagrad's accumulators
)

// tableJob is the environment variable that makes this test's binary run as a task
// of a cluster: model_dir, max_steps and the parity of the ids to train.
const tableJob = "GOESTIMATOR_ACCEPT_TABLE"

func init() {
	job := strings.Split(os.Getenv(tableJob), ",")
	if len(job) != 3 {
		return
	}
	err := trainTable(job[0], job[1], job[2])
	fmt.Printf("peak_kb=%d\n", status("self", "VmHWM"))
	if err != nil {
		fmt.Println(err)
	}
	os.Exit(estimator.ExitCode(err))
}

// status returns a memory value of a process in KiB, 0 if the system does not report it.
func status(pid, name string) int {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// tableModel sums the table rows of an example and predicts its label from the sum.
func tableModel(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
	adagrad, err := optimizers.New("adagrad", map[string]any{"learning_rate": 0.1})
	if err != nil {
		return nil, err
	}
	x := layers.Embedding(mc, f.Dense("ids"), tableRows, tableWidth, layers.Weights{KernelInit: initializers.RandomUniform{Min: -0.05, Max: 0.05}})
	y := layers.Dense(mc, ops.Sum(mc, x, ops.Reduction{Axes: []int{1}}), 1, layers.Weights{})
	labels := ops.ExpandDims(mc, ops.Cast(mc, l.Only(), tensor.Float32), -1)
	spec := &estimator.Spec{Predictions: estimator.Nodes{"logits": y}, Loss: losses.SigmoidCrossEntropy(mc, labels, y, losses.Options{})}
	spec.TrainOp = adagrad.Minimize(mc, spec.Loss)
	return spec, nil
}

// tableBatches returns an endless input of ids with one parity.
func tableBatches(parity int64) (ids, labels *tensor.Tensor) {
	r := rand.New(rand.NewPCG(1, 2))
	ids, labels = tensor.New(tensor.Int64, 20*tableBatch, tableIDs), tensor.New(tensor.Int64, 20*tableBatch)
	for i := range tensor.Values[int64](ids) {
		tensor.Values[int64](ids)[i] = r.Int64N(tableRows)&^1 | parity
	}
	for i := range tensor.Values[int64](labels) {
		tensor.Values[int64](labels)[i] = r.Int64N(2)
	}
	return ids, labels
}

// trainTable runs one task.
func trainTable(dir, steps, parity string) error {
	n, err := strconv.ParseInt(steps, 10, 64)
	if err != nil {
		return err
	}
	p, err := strconv.ParseInt(parity, 10, 64)
	if err != nil {
		return err
	}
	ids, labels := tableBatches(p)
	input := estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "ids", Role: inputs.Feature, Tensor: ids},
			inputs.NamedTensor{Name: "y", Role: inputs.Label, Tensor: labels})
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(tableBatch, true)), nil
	})
	rc, err := runconfig.New(runconfig.ModelDir(dir), runconfig.TFRandomSeed(5), runconfig.SaveCheckpointsSteps(50), runconfig.SaveSummarySteps(0),
		runconfig.KeepCheckpointMax(1), // each has the table and the accumulators
		runconfig.ExperimentalMaxWorkerDelaySecs(0), runconfig.LogStepCountSteps(10),
		runconfig.TrainDistribute(runconfig.Strategy{Name: "parameter_server", Partitioner: runconfig.Partitioner{Kind: "min_size"}}))
	if err != nil {
		return err
	}
	e, err := estimator.New(estimator.ModelFunc(tableModel), estimator.WithRunConfig(rc))
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = estimator.TrainAndEvaluate(context.Background(), e, estimator.TrainSpec{Input: input, MaxSteps: n}, estimator.EvalSpec{Input: input})
	return err
}

// trainTableOn trains with the given number of parameter servers, a chief and a worker,
// and returns the peak memory of each process in MB.
func trainTableOn(t *testing.T, dir string, servers, steps, parity int) map[string]int {
	t.Helper()
	names := "chief-0 worker-0"
	for i := range servers {
		names += fmt.Sprintf(" ps-%d", i)
	}
	r := newRig(t, names)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range r.tasks {
		env := append(os.Environ(), "TF_CONFIG="+r.tfConfig(name), "NO_COLOR=1", fmt.Sprintf("%s=%s,%d,%d", tableJob, dir, steps, parity))
		if x.p, err = proc.Start(proc.Command{Args: []string{self}, Env: env, Stdout: x, Stderr: x}); err != nil {
			t.Fatal(err)
		}
	}
	peak := map[string]int{}
	for name := range r.tasks {
		r.exitWithin(name, 0, 2*patience)
		kb, _ := strconv.Atoi(r.await(name, `(?m)^peak_kb=(\d+)`)[1])
		peak[name] = kb * 1024 / 1_000_000
	}
	t.Logf("%d parameter servers, table and accumulators of %d MB each: peak memory in MB: %v", servers, tableMB, peak)
	return peak
}

// checkPeaks fails if a training task has held a large part of the table,
// or a parameter server has not held its share.
func checkPeaks(t *testing.T, peak map[string]int, servers int) {
	t.Helper()
	for name, mb := range peak {
		share := 2 * tableMB / servers
		switch {
		case mb == 0:
			t.Skip("the system does not tell of a process's memory")
		case strings.HasPrefix(name, "ps"):
			// Data that changes while a checkpoint is read is held twice.
			if mb < share || mb > 2*share+200 {
				t.Errorf("%s: peak memory of %d MB, expected a share of %d MB and at most as much again while saving", name, mb, share)
			}
		case mb > 2*tableMB/5:
			t.Errorf("%s: peak memory of %d MB, expected at most a fifth of table and accumulators, %d MB", name, mb, 2*tableMB/5)
		}
	}
}

// tableSample reads rows of a checkpoint from all parts of the table, including the
// middle, where the table is split.
func tableSample(t *testing.T, dir string, step int64, name string) (even, odd []float32) {
	t.Helper()
	r, err := checkpoint.Open(filepath.Join(dir, fmt.Sprintf("model.ckpt-%d", step)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, lo := range []int{0, 1_234_567, tableRows/2 - 500, 7_654_321, tableRows - 1000} {
		rows, err := r.Rows(name, lo, lo+1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			v := tensor.Values[float32](rows)[i*tableWidth : (i+1)*tableWidth]
			if (lo+i)%2 == 0 {
				even = append(even, v...)
			} else {
				odd = append(odd, v...)
			}
		}
	}
	return even, odd
}

// TestEmbeddingOnServers trains a table of 10 million rows on two parameter
// servers, saves it, and continues with one. No other process ever holds the table.
func TestEmbeddingOnServers(t *testing.T) {
	long(t)
	dir := filepath.Join(t.TempDir(), "model")
	type rows struct{ even, odd []float32 }
	before := map[string]rows{}
	checkPeaks(t, trainTableOn(t, dir, 2, 100, 0), 2)
	first := latestOf(t, dir)
	for _, name := range []string{tableName, tableName + "/Adagrad"} {
		even, odd := tableSample(t, dir, first, name)
		before[name] = rows{even, odd}
	}
	checkPeaks(t, trainTableOn(t, dir, 1, 200, 1), 1)
	last := latestOf(t, dir)
	if first < 100 || last < 200 {
		t.Errorf("checkpoints of steps %d and %d, expected 100 and 200 or more", first, last)
	}
	for name, was := range before {
		even, odd := tableSample(t, dir, last, name)
		if !slices.Equal(was.even, even) {
			t.Errorf("%s: rows that were not trained after the restart have changed", name)
		}
		if slices.Equal(was.odd, odd) {
			t.Errorf("%s: rows that were trained after the restart are as before", name)
		}
		if slices.ContainsFunc(was.odd, func(v float32) bool { return name != tableName && v != was.odd[0] }) {
			t.Errorf("%s: rows that were not trained before the restart differ", name)
		}
	}
}

func latestOf(t *testing.T, dir string) int64 {
	t.Helper()
	r, err := checkpoint.OpenLatest(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Step()
}
