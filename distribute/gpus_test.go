package distribute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// hideLaunchers makes this process one that no launcher has numbered.
func hideLaunchers(t *testing.T) {
	t.Helper()
	for _, name := range []string{"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"} {
		t.Setenv(name, "")
	}
}

// TestReplicasOnGPUsEqualOne: a loop on several GPUs, of one process or of several workers, equals one replica on the
// host with the whole batch, including metrics and a last step with fewer rows.
func TestReplicasOnGPUsEqualOne(t *testing.T) {
	hideLaunchers(t)
	const rows = toyBatch*toyBatches + 6 // in the last step only some replicas have a batch, with equal rows: GPUs count replicas equally
	for _, c := range []struct {
		setup
		gpus int // of each worker
	}{
		{setup{"one_device", runconfig.Strategy{Name: "one_device", Device: "gpu:2"}, 1, 0}, 4},
		{setup{"mirrored", runconfig.Strategy{Name: "mirrored"}, 1, 0}, 4},
		{setup{"mirrored 2", runconfig.Strategy{Name: "mirrored", Replicas: 2}, 1, 0}, 4},
		{setup{"central_storage", runconfig.Strategy{Name: "central_storage"}, 1, 0}, 4},
		{setup{"central_storage", runconfig.Strategy{Name: "central_storage"}, 1, 0}, 1},
		{setup{"multi_worker_mirrored", runconfig.Strategy{Name: "multi_worker_mirrored"}, 1, 0}, 4},
		{setup{"multi_worker_mirrored", runconfig.Strategy{Name: "multi_worker_mirrored"}, 2, 0}, 2},
		{setup{"parameter_server", runconfig.Strategy{Name: "parameter_server"}, 1, 2}, 4},
	} {
		t.Run(fmt.Sprintf("%s, %d x %d", c.name, c.workers, c.gpus), func(t *testing.T) {
			if c.strategy.Name == "one_device" || c.name == "mirrored" || c.gpus == 1 {
				testkit.NotConcurrent(t) // the others compute more in parallel
			}
			source := gpustest.Need(t, c.workers*c.gpus)
			got := c.trainedWith(t, t.TempDir(), adam, rows, func(rank int) distribute.Option {
				return distribute.WithGPUs(gpustest.Window(source, rank*c.gpus, c.gpus))
			})
			replicas := c.setup
			replicas.strategy.Device = "/cpu:0"
			if c.name != "one_device" && c.strategy.Replicas == 0 {
				replicas.strategy.Replicas = c.gpus
			}
			compareTraces(t, replicas.trained(t, t.TempDir(), adam, rows), got, 1e-5)
			one := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
			got.losses = got.losses[:toyBatches]
			for i, want := range one.losses {
				if d := want - got.losses[i]; d > 1e-5 || d < -1e-5 {
					t.Errorf("loss of step %d: %v, expected %v, that of one replica", i+1, got.losses[i], want)
				}
			}
		})
	}
}

// TestSynchronousWorkersOnGPUs: two workers with synchronous parameter servers and two GPUs each make the same steps as one replica.
func TestSynchronousWorkersOnGPUs(t *testing.T) {
	hideLaunchers(t)
	source := gpustest.Need(t, 4)
	want := setups[0].trained(t, t.TempDir(), adam, toyBatch*toyBatches)
	c := setup{"parameter_server", runconfig.Strategy{Name: "parameter_server", Sync: true}, 2, 1}
	c.inCluster(t, t.TempDir(), func(ctx context.Context, rc runconfig.RunConfig) error {
		s, err := distribute.New(rc, quiet, distribute.WithGPUs(gpustest.Window(source, 2*rc.WorkerRank(), 2)))
		if err != nil {
			return err
		}
		y, err := newToy(s, t, toyBatch*toyBatches, adam())
		if err == nil {
			_, err = y.Restore(ctx)
		}
		if err == nil {
			_, err = y.epoch(ctx)
		}
		if n, local := s.NumReplicasInSync(), s.LocalReplicas(); n != 4 || local != 2 {
			t.Errorf("%d replicas in sync, %d here: expected 4 and 2", n, local)
		}
		for name, w := range want.variables {
			if err != nil || !s.IsChief() || !isModels(name) {
				continue
			}
			var g *tensor.Tensor
			if g, err = s.Variable(name); err != nil {
				break
			}
			for i := range w.Len() {
				if d := w.Float(i) - g.Float(i); d > 1e-5 || d < -1e-5 {
					t.Errorf("variable %s[%d]: %v, expected %v", name, i, g.Float(i), w.Float(i))
					break
				}
			}
		}
		return errors.Join(err, s.Close(ctx))
	})
}

// TestBatchesAhead: on GPUs two batches are read ahead, for the functions that ran on the previous one. A checkpoint still has the
// position after the latest batch. Replaced tensors in a batch are used. The losses equal those on the host.
func TestBatchesAhead(t *testing.T) {
	hideLaunchers(t)
	// After the third batch, on which nothing runs, no more are read.
	onGPUs, on := lossesAhead(t, "", []int{0, 2, 2, 1, 2})
	onHost, _ := lossesAhead(t, "/cpu:0", make([]int, 5))
	for i, want := range onHost {
		if d := want - onGPUs[i]; d > 1e-5 || d < -1e-5 {
			t.Errorf("loss %d on %d GPUs: %v, expected %v", i, on, onGPUs[i], want)
		}
	}
}

// lossesAhead trains on some batches, with that many read ahead of each step.
func lossesAhead(t *testing.T, device string, ahead []int) (losses []float64, replicas int) {
	t.Helper()
	rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: "mirrored", Device: device, Replicas: 2}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, source := t.Context(), gpustest.Need(t, 2)
	const batches = 8
	open := func() (*toy, *distribute.Iterator) {
		s, err := distribute.New(rc, quiet, distribute.WithGPUs(source))
		if err != nil {
			t.Fatal(err)
		}
		y, err := newToy(s, t, toyBatch*batches, adam())
		if err == nil {
			_, err = y.Restore(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		it, err := y.data.Iterate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return y, it
	}
	y, it := open()
	for i, want := range ahead {
		b, err := it.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if it.Ahead() != want {
			t.Errorf("%q, batch %d: %d batches ahead, expected %d", device, i, it.Ahead(), want)
		}
		if i == 2 {
			continue
		}
		if i == 4 { // another batch in its place
			x := b[0]["x"].Clone()
			clear(x.Bytes)
			b[0]["x"] = x
		}
		res, err := y.train.Run(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, res.Loss())
	}
	if _, err := y.Save(ctx); err != nil {
		t.Fatal(err)
	}
	if err := y.Close(ctx); err != nil {
		t.Fatal(err)
	}
	y, it = open()
	rest := 0
	for ; err == nil; rest++ {
		_, err = it.Next(ctx)
	}
	if want := batches - len(ahead); rest-1 != want || !errors.Is(err, io.EOF) {
		t.Errorf("%q: %d batches behind the checkpoint, expected %d: %v", device, rest-1, want, err)
	}
	if err := y.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return losses, y.LocalReplicas()
}

// TestGPUFails: if a GPU fails in a step, the step ends with an error that names the GPU, and Close returns.
func TestGPUFails(t *testing.T) {
	hideLaunchers(t)
	for _, name := range []string{"mirrored", "central_storage", "multi_worker_mirrored"} {
		gpu := gpustest.Emulated(t, 4)
		gpu.Lost = true
		rc, err := runconfig.New(runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(runconfig.Strategy{Name: name}))
		if err != nil {
			t.Fatal(err)
		}
		s, err := distribute.New(rc, quiet, distribute.WithGPUs(gpu))
		if err != nil {
			t.Fatal(err)
		}
		y, err := newToy(s, t, toyBatch*8, adam())
		if err != nil {
			t.Fatal(err)
		}
		it, err := y.data.Iterate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		step := func(ctx context.Context) error {
			b, err := it.Next(ctx)
			if err == nil {
				_, err = y.train.Run(ctx, b)
			}
			return err
		}
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
		gpu.Driver.Inject("Synchronize", 3, &driver.Error{Call: "cuStreamSynchronize", Code: driver.CodeIllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"})
		for err = nil; err == nil; {
			err = step(t.Context())
		}
		if !errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "emulated GPU") || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("%s: expected the name of a lost GPU, got %v", name, err)
		}
		if err := s.Close(t.Context()); err != nil && !errors.Is(err, device.ErrLost) {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}
