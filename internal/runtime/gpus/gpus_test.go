package gpus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/runtime/gpus/gpustest"
)

// broken is GPUs that cannot be counted or opened.
type broken struct {
	n      int
	counts error
	opens  error
}

func (b broken) Count() (int, error) { return b.n, b.counts }

func (b broken) Open(context.Context, int) (device.Device, error) { return nil, b.opens }

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"/gpu:3", "/gpu:3"}, {"gpu:0", "/gpu:0"}, {"/device:GPU:12", "/gpu:12"}, {"/CPU:0", "/cpu:0"}, {"/device:CPU:0", "/cpu:0"},
	} {
		n, err := gpus.Parse(c.text)
		if err != nil || n.String() != c.want {
			t.Errorf("%q: expected %q, got %q, %v", c.text, c.want, n, err)
		}
	}
	for _, text := range []string{"gpu", "/gpu:-1", "/gpu:x", "/tpu:0", "/cpu:1", "/gpu:", "/job:a/gpu:0", "/gpu:99999999999999999999"} {
		if n, err := gpus.Parse(text); err == nil || !strings.Contains(err.Error(), "expected /gpu:N, /cpu:0") {
			t.Errorf("%q: expected an error, got %q, %v", text, n, err)
		}
	}
}

func TestOpenWithoutGPU(t *testing.T) {
	amiss := errors.New("the driver is too old")
	for _, c := range []struct {
		name   string
		source gpus.Source
		device string
		warns  string
		fails  string
	}{
		{"none", broken{0, fmt.Errorf("%w: no driver", gpus.ErrNone), nil}, "", "", ""},
		{"amiss", broken{0, amiss, amiss}, "", "the driver is too old", ""},
		{"not opened", broken{2, nil, amiss}, "", "the driver is too old", ""},
		{"asked for", broken{0, gpus.ErrNone, amiss}, "/gpu:1", "", "device /gpu:1 cannot be used: the driver is too old"},
		{"host", broken{2, nil, amiss}, "/cpu:0", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			n, err := gpus.Parse(c.device)
			if err != nil {
				t.Fatal(err)
			}
			dev, got, err := gpus.NewChooser(c.source, slog.New(slog.NewTextHandler(&log, nil))).Open(t.Context(), n)
			if fmt.Sprint(err) != c.fails && (err != nil || c.fails != "") {
				t.Fatalf("expected %q, got %v", c.fails, err)
			}
			if !strings.Contains(log.String(), c.warns) || c.warns == "" && log.Len() > 0 {
				t.Errorf("expected a warning of %q, got %q", c.warns, &log)
			}
			if err == nil && (dev.Kind() != device.KindHost || got.String() != "/cpu:0") {
				t.Errorf("expected the host, got %s %s", dev.Kind(), got)
			}
		})
	}
}

// TestSharing checks that a GPU is opened once for two users, and again after both have closed it.
func TestSharing(t *testing.T) {
	real := gpustest.Emulated(t, 2)
	c := gpus.NewChooser(real, slog.New(slog.DiscardHandler))
	for range 2 {
		var devs []device.Device
		for range 2 {
			d, name, err := c.Open(t.Context(), gpus.Name{Any: true, Number: 3})
			if err != nil || name.String() != "/gpu:1" {
				t.Fatal(name, err)
			}
			devs = append(devs, d)
		}
		if _, ok := devs[0].(device.HostAllocator); !ok {
			t.Error("expected page-locked memory of the shared device too")
		}
		if err := errors.Join(devs[0].Close(), devs[0].Close()); err != nil {
			t.Fatal(err)
		}
		b, err := devs[1].Alloc(16)
		if err != nil {
			t.Fatalf("expected the device to be open still, got %v", err)
		}
		if err := errors.Join(b.Free(), devs[1].Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := devs[1].Alloc(16); err == nil {
			t.Error("expected the device to be closed")
		}
	}
}

func ExampleParse() {
	n, err := gpus.Parse("/device:GPU:1")
	fmt.Println(n, n.Number, err)
	// Output: /gpu:1 1 <nil>
}
