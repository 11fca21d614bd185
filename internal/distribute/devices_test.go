package distribute

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// onGPUs is the config of a strategy on emulated GPUs.
func onGPUs(t *testing.T, n int, s runconfig.Strategy) Config {
	t.Helper()
	return Config{Strategy: s, Devices: gpus.NewChooser(gpustest.Emulated(t, n), slog.New(slog.DiscardHandler))}
}

// TestContractOnGPU holds on an emulated GPU what every strategy of one process does; a mirrored one of one GPU too.
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

// TestReplicasOnGPUs sees that there is a replica for each GPU, and that they and central variables do what those on the host do.
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
			if want := map[string]string{"mirrored": "cuda", "central_storage": device.KindHost}[name]; r.devices[0].Kind() != want {
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

func TestLocalRank(t *testing.T) {
	for name, want := range map[string]int{"": 0, "2": 2, "x": 0, "-1": 0} {
		for _, v := range localRanks {
			t.Setenv(v, "")
		}
		t.Setenv("SLURM_LOCALID", name)
		if got := localRank(); got != want {
			t.Errorf("%q: expected %d, got %d", name, want, got)
		}
	}
}

// TestUnreadSteps trains with steps that nobody reads, the next batch copied ahead, and compares with the host.
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

// trainUnread reads the loss of every fifth step, and w in the end.
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
	// Two batches whose memory is used in turn, as the estimator does it.
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
