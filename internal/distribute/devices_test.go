package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// onGPUs returns the config of a strategy on this machine's GPUs, or on emulated ones.
func onGPUs(t *testing.T, n int, s runconfig.Strategy) Config {
	t.Helper()
	return Config{Strategy: s, Devices: gpus.NewChooser(gpustest.Need(t, n), slog.New(slog.DiscardHandler))}
}

// TestContractOnGPU runs the contract of every strategy of one process on an emulated GPU, including mirrored on a single GPU.
func TestContractOnGPU(t *testing.T) {
	for _, c := range []runconfig.Strategy{{Name: "default"}, {Name: "one_device", Device: "/gpu:0"}, {Name: "mirrored"}, {Name: "multi_worker_mirrored"}} {
		t.Run(c.Name+c.Device, func(t *testing.T) {
			s, err := New(onGPUs(t, 1, c))
			if err != nil {
				t.Fatal(err)
			}
			if l, ok := s.(*local); !ok || l.dev.Kind() != "cuda" {
				t.Fatalf("expected the variables on the GPU, got %T", s)
			}
			checkStrategy(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplicasOnGPUs checks that there is a replica for each GPU, and that replicas and central variables give the same results as on the host.
func TestReplicasOnGPUs(t *testing.T) {
	for _, name := range []string{"mirrored", "central_storage"} {
		t.Run(name, func(t *testing.T) {
			s, err := New(onGPUs(t, 3, runconfig.Strategy{Name: name}))
			if err != nil {
				t.Fatal(err)
			}
			r := s.(*replicated)
			if got := r.Replicas(); got != (Replicas{InSync: 3, Local: 3}) {
				t.Errorf("expected 3 replicas, got %+v", got)
			}
			if want := map[string]string{"mirrored": cuda.Kind, "central_storage": device.KindHost}[name]; r.devices[0].Kind() != want {
				t.Errorf("expected the variables on %s, got %s", want, r.devices[0].Kind())
			}
			checkReplicas(t, r)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDeviceThatIsNotThere(t *testing.T) {
	for _, c := range []struct{ name, device, says string }{
		{"one_device", "/gpu:7", "strategy one_device: device /gpu:7 cannot be used"},
		{"default", "/gpu:7", "strategy default: device /gpu:7 cannot be used"},
		{"one_device", "/tpu:0", "expected /gpu:N, /cpu:0"},
		{"mirrored", "/gpu:7", "strategy mirrored: device /gpu:7 cannot be used"},
	} {
		s, err := New(onGPUs(t, 1, runconfig.Strategy{Name: c.name, Device: c.device}))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: expected %q, got %v, %v", c.name, c.device, c.says, s, err)
		}
	}
}

// TestDevicesOfReplicas: the replicas of a process, where they compute and where the variables are, by the number of GPUs.
func TestDevicesOfReplicas(t *testing.T) {
	type is struct {
		replicas  int
		compute   string
		variables string
		apart     bool // each replica has its own GPU
	}
	const gpu, host = cuda.Kind, device.KindHost
	for _, c := range []struct {
		gpus     int
		strategy runconfig.Strategy
		want     is
	}{
		{0, runconfig.Strategy{Name: "mirrored"}, is{1, host, host, false}},
		{0, runconfig.Strategy{Name: "mirrored", Replicas: 3}, is{3, host, host, false}},
		{1, runconfig.Strategy{Name: "mirrored"}, is{1, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "mirrored"}, is{4, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "mirrored", Replicas: 2}, is{2, gpu, gpu, true}},
		{2, runconfig.Strategy{Name: "mirrored", Replicas: 3, Device: "/gpu:1"}, is{3, gpu, gpu, false}},
		{2, runconfig.Strategy{Name: "mirrored", Replicas: 2, Device: "/cpu:0"}, is{2, host, host, false}},
		{0, runconfig.Strategy{Name: "central_storage"}, is{1, host, host, false}},
		{1, runconfig.Strategy{Name: "central_storage"}, is{1, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "central_storage"}, is{4, gpu, host, true}},
		{2, runconfig.Strategy{Name: "central_storage", Replicas: 2, Device: "/gpu:1"}, is{2, gpu, gpu, false}},
		{0, runconfig.Strategy{Name: "multi_worker_mirrored"}, is{1, host, host, false}},
		{4, runconfig.Strategy{Name: "multi_worker_mirrored"}, is{4, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "multi_worker_mirrored", Replicas: 3}, is{3, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "default"}, is{1, gpu, gpu, true}},
		{4, runconfig.Strategy{Name: "one_device", Device: "gpu:2"}, is{1, gpu, gpu, true}},
	} {
		t.Run(fmt.Sprintf("%s %s %d on %d", c.strategy.Name, strings.ReplaceAll(c.strategy.Device, "/", ""), c.strategy.Replicas, c.gpus), func(t *testing.T) {
			hideLaunchers(t)
			config := Config{Strategy: c.strategy, Devices: gpus.NewChooser(noGPUs{}, slog.New(slog.DiscardHandler))}
			if c.gpus > 0 {
				config = onGPUs(t, c.gpus, c.strategy)
			}
			s, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got := is{replicas: s.Replicas().Local}
			var compute, owners []device.Device
			switch x := s.(type) {
			case *local:
				compute, owners = []device.Device{x.dev}, []device.Device{x.dev}
			case *replicated:
				compute, owners = x.compute, x.devices
			}
			got.compute, got.variables, got.apart = compute[0].Kind(), owners[0].Kind(), len(gpus.Distinct(compute)) == len(compute)
			if got != c.want || config.ReplicasInSync(1) != c.want.replicas {
				t.Errorf("expected %+v, got %+v and %d in sync", c.want, got, config.ReplicasInSync(1))
			}
		})
	}
}

// noGPUs is a machine without GPUs.
type noGPUs struct{}

func (noGPUs) Count() (int, error) { return 0, gpus.ErrNone }

func (noGPUs) Open(context.Context, int) (device.Device, error) { return nil, gpus.ErrNone }

// TestTooManyReplicas: more replicas than GPUs are a mistake, and so is a GPU that cannot be opened after one that can.
func TestTooManyReplicas(t *testing.T) {
	hideLaunchers(t)
	for _, name := range []string{"mirrored", "central_storage", "multi_worker_mirrored"} {
		_, err := New(onGPUs(t, 2, runconfig.Strategy{Name: name, Replicas: 3}))
		if want := "strategy " + name + ": strategy.replicas is 3, but this process has 2 GPUs"; err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, runconfig.ErrMistake) {
			t.Errorf("expected %q, got %v", want, err)
		}
		c := Config{Strategy: runconfig.Strategy{Name: name}, Devices: gpus.NewChooser(brokenGPU{gpustest.Emulated(t, 3)}, slog.New(slog.DiscardHandler))}
		_, err = New(c)
		if want := "replica 2: device /gpu:2 cannot be used: it is broken"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q, got %v", want, err)
		}
	}
}

// brokenGPU is a number of GPUs; the last cannot be opened.
type brokenGPU struct{ *gpustest.GPUs }

func (b brokenGPU) Open(ctx context.Context, number int) (device.Device, error) {
	if n, err := b.Count(); number == n-1 || err != nil {
		return nil, errors.New("it is broken")
	}
	return b.GPUs.Open(ctx, number)
}

// TestUnreadSteps trains with unread steps and the next batch copied ahead, and compares with the host.
func TestUnreadSteps(t *testing.T) {
	var want, got []float64
	for _, c := range []struct {
		config Config
		into   *[]float64
	}{{on("default", "/cpu:0"), &want}, {onGPUs(t, 1, runconfig.Strategy{}), &got}} {
		s, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		*c.into = trainUnread(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, w := range want {
		if math.Abs(got[i]-w) > 1e-12 {
			t.Errorf("value %d: expected %g, got %g", i, w, got[i])
		}
	}
}

// trainUnread reads the loss of every fifth step, and w at the end.
func trainUnread(t *testing.T, s Strategy) []float64 {
	t.Helper()
	for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
		if err := s.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
			t.Fatal(err)
		}
	}
	stepper, err := s.Train(square(graph.NewBuilder(graph.New())))
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	ahead, _ := stepper.(Prefetcher)
	// Two batches whose memory is used in turn, as by the Estimator.
	batches := []Batch{column(t, 1), column(t, 1)}
	set := func(i int) Batch {
		b := batches[i%2]
		tensor.Values[float64](b.Feeds[0])[0] = float64(i%7) - 3
		return b
	}
	next := set(0)
	for i := range 21 {
		now := next
		if i < 20 {
			next = set(i + 1)
			if ahead != nil && i%4 != 3 {
				if err := ahead.Prefetch(context.Background(), []Batch{next}); err != nil {
					t.Fatal(err)
				}
			}
		}
		in := Step{Batches: []Batch{now}, Unread: i%5 != 0}
		o, err := stepper.Step(context.Background(), in)
		if err != nil || o.GlobalStep != int64(i+1) || !o.Applied {
			t.Fatal(fmt.Sprintf("step %d: %+v", i, o), err)
		}
		if !in.Unread {
			out = append(out, stepper.Value(0).Float(0))
		}
	}
	w, err := s.Variables().Get("w")
	if err != nil {
		t.Fatal(err)
	}
	if err := stepper.Close(); err != nil {
		t.Fatal(err)
	}
	return append(out, w.Float(0))
}
