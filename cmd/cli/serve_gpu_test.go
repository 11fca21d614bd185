//go:build !noserve

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
)

// TestServeOnGPU serves a model with batching from an emulated GPU.
func TestServeOnGPU(t *testing.T) {
	base, gpu := halfPlusTwoModel(t), gpustest.Emulated(t, 1)
	if log := servedOn(t, base, gpu); !strings.Contains(log, "device=/gpu:0") || strings.Contains(log, "done on the host") {
		t.Errorf("expected all of it on the GPU:\n%s", log)
	}
}

// TestServeWithHostSteps serves with a GPU that supports no op: this is logged once, or
// refused.
func TestServeWithHostSteps(t *testing.T) {
	base, gpu := halfPlusTwoModel(t), gpuWithoutKernels{gpustest.Emulated(t, 1)}
	if log := servedOn(t, base, gpu); strings.Count(log, "done on the host") != 1 || !strings.Contains(log, "odd") {
		t.Errorf("expected one warning:\n%s", log)
	}
	var log strings.Builder
	code := Run(t.Context(), []string{"serve", "--model", "half_plus_two=" + base, "--host=127.0.0.1", "--port=0", "--rest_api_port=-1", "--device=/gpu:0",
		"--soft_placement=false"}, io.Discard, &log, func(a *app) error { a.gpus = gpu; return nil })
	if code != 1 || !strings.Contains(log.String(), "cannot run all of the model") || !strings.Contains(log.String(), "odd") {
		t.Errorf("expected the model to be refused, got exit code %d:\n%s", code, &log)
	}
}

// gpuWithoutKernels has no kernels.
type gpuWithoutKernels struct{ gpus.Source }

func (g gpuWithoutKernels) Open(ctx context.Context, number int) (device.Device, error) {
	d, err := g.Source.Open(ctx, number)
	if err != nil {
		return nil, err
	}
	return deviceWithoutKernels{d.(*cuda.Device)}, nil
}

type deviceWithoutKernels struct{ *cuda.Device }

func (deviceWithoutKernels) Supports(*engine.Operation) error { return errors.New("it is an odd GPU") }

// halfPlusTwoModel is a folder with TensorFlow Serving's test model as version 1.
func halfPlusTwoModel(t *testing.T) string {
	t.Helper()
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "half_plus_two")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	return base
}

// servedOn serves the model with batching on a GPU, and returns the server's log.
func servedOn(t *testing.T, base string, gpu gpus.Source) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var log strings.Builder
	var server sync.WaitGroup
	code := -1
	server.Go(func() {
		code = Run(ctx, []string{"serve", "--model", "half_plus_two=" + base, "--host=127.0.0.1", "--port=0", "--rest_api_port=-1", "--device=/gpu:0",
			"--enable_batching", "--json"}, in, &log, func(a *app) error { a.gpus = gpu; return nil })
		in.Close()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		go io.Copy(io.Discard, out)
		var at serving.Addresses
		if err = json.Unmarshal([]byte(line), &at); err == nil {
			ask(ctx, t, at.GRPC)
		}
	}
	stop()
	server.Wait()
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, addresses: %v\n%s", code, err, &log)
	}
	return log.String()
}

func ask(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	halfPlusTwo(ctx, t, c)
}

func TestServeOnNoSuchGPU(t *testing.T) {
	for device, want := range map[string]int{"/gpu:3": 1, "/tpu:0": exitUsage} {
		var log strings.Builder
		code := Run(t.Context(), []string{"serve", "--model", "m=" + t.TempDir(), "--device", device}, io.Discard, &log,
			func(a *app) error { a.gpus = noGPU{}; return nil })
		if code != want || !strings.Contains(log.String(), device) {
			t.Errorf("%s: exit code %d: %s", device, code, &log)
		}
	}
}

// noGPU is a machine without GPUs.
type noGPU struct{}

func (noGPU) Count() (int, error) { return 0, gpus.ErrNone }

func (noGPU) Open(context.Context, int) (device.Device, error) { return nil, gpus.ErrNone }
