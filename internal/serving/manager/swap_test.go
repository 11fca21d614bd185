package manager

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// TestSwapsFailNobody: 64 users acquire, run and release while versions are swapped
// as fast as they load; none sees a missing or closed version.
func TestSwapsFailNobody(t *testing.T) {
	d := newDisk(t)
	d.put("m", "0", "ok")
	m := newManager(t, Options{Loader: d})
	ctx := testContext(t)
	if err := m.Reload(ctx, d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	var done atomic.Bool
	var served, failed atomic.Int64
	for range 64 {
		users.Go(func() {
			for !done.Load() {
				if err := use(ctx, m); err != nil {
					failed.Add(1)
					t.Error(err)
					return
				}
				served.Add(1)
			}
		})
	}
	const swaps = 100
	for i := 1; i <= swaps; i++ {
		d.put("m", fmt.Sprint(i), "ok")
		d.remove("m", fmt.Sprint(i-1))
		if err := m.Reload(ctx, d.cfg(fmt.Sprintf("m model_version_policy {latest {num_versions: %d}}", 1+i%2))); err != nil {
			t.Fatal(err)
		}
		for start := served.Load(); served.Load() < start+64 && failed.Load() == 0; { // let the users see it
			if err := use(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	done.Store(true)
	users.Wait()
	m.until(t, "all but the newest are closed", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.closed) == swaps
	})
	t.Logf("%d swaps, %d requests", swaps, served.Load())
}

func use(ctx context.Context, m *Manager) error {
	h, err := m.Acquire("m", servable.Version{})
	if err != nil {
		return err
	}
	defer h.Release()
	y, err := h.Model().Run(ctx, nil, nil)
	if err != nil {
		return err
	}
	if got := int64(tensor.Values[float32](y[0])[0]); got != h.ID().Version {
		return fmt.Errorf("version %d answered for version %d", got, h.ID().Version)
	}
	return nil
}

func BenchmarkAcquire(b *testing.B) {
	d := newDisk(b)
	d.put("m", "1", "ok")
	m := newManager(b, Options{Loader: d})
	if err := m.Reload(testContext(b), d.cfg("m")); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			h, err := m.Acquire("m", servable.Version{})
			if err != nil {
				b.Fatal(err)
			}
			h.Release()
		}
	})
}
