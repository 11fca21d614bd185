package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/internal/gpus"
	"github.com/goestimator/goestimator/internal/gpus/gpustest"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
)

// TestServeOnGPU serves a model with batching from an emulated GPU.
func TestServeOnGPU(t *testing.T) {
	golden := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	base := filepath.Join(t.TempDir(), "half_plus_two")
	if err := os.CopyFS(filepath.Join(base, "1"), os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	gpu := gpustest.Emulated(t, 1)
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
	defer func() {
		stop()
		server.Wait()
		if code != 0 || !strings.Contains(log.String(), "device=/gpu:0") {
			t.Errorf("exit code %d:\n%s", code, &log)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("no addresses: %v", err)
		return
	}
	go io.Copy(io.Discard, out)
	var at serving.Addresses
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(at.GRPC, client.Options{})
	if err != nil {
		t.Fatal(err)
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

// noGPU is a machine without.
type noGPU struct{}

func (noGPU) Count() (int, error) { return 0, gpus.ErrNone }

func (noGPU) Open(context.Context, int) (device.Device, error) { return nil, gpus.ErrNone }
