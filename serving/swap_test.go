package serving

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/serving/client"
)

// TestSwaps: TensorFlow's half_plus_two and half_plus_three take turns as the newest
// version of a model while clients send requests. Each response is that of the version that
// it names, and none is missing. With GOESTIMATOR_ACCEPT=1, one swap per second for five minutes.
func TestSwaps(t *testing.T) {
	golden := []string{
		testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123"),
		testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_three/00000123"),
	}
	swaps, clients, pace := 6, 8, time.Millisecond
	var every time.Duration
	poll := time.Millisecond
	if os.Getenv("GOESTIMATOR_ACCEPT") == "1" {
		swaps, clients, every, pace = 300, 16, time.Second, 10*time.Millisecond
		poll = 100 * time.Millisecond
	}
	root := t.TempDir()
	put := func(version int) {
		staged := filepath.Join(root, "staged")
		if err := os.CopyFS(staged, os.DirFS(golden[version%2])); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(staged, filepath.Join(root, "m", fmt.Sprint(version))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(0)
	s := run(t, Options{
		Loader: SavedModels(SavedModelOptions{}), Models: single(root, "m"), Listen: Listen{REST: -1},
		Loading: Loading{Poll: poll}, Batching: &Batching{BatchingParameters: DefaultBatching()},
	}).wait(t)

	ctx, stop := context.WithTimeout(context.Background(), time.Duration(swaps)*every+waitLimit)
	defer stop()
	asking, enough := context.WithCancel(ctx)
	defer enough()
	var work sync.WaitGroup
	took := make([][]time.Duration, clients)
	for i := range clients {
		c := dial(t, s.Addresses().GRPC)
		work.Go(func() {
			for asking.Err() == nil {
				began := time.Now()
				if err := half(ctx, c, float32(i)); err != nil {
					t.Error(err)
					enough()
				}
				took[i] = append(took[i], time.Since(began))
				time.Sleep(pace) // clients pause between requests
			}
		})
	}
	for i := 1; i <= swaps && asking.Err() == nil; i++ {
		next := time.After(every)
		put(i)
		for asking.Err() == nil && !available(s.models, i) {
			time.Sleep(time.Millisecond)
		}
		if err := os.RemoveAll(filepath.Join(root, "m", fmt.Sprint(i-1))); err != nil {
			t.Fatal(err)
		}
		select {
		case <-next:
		case <-asking.Done():
		}
	}
	enough()
	work.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	t.Logf("%d swaps, %d requests: p50 %v, p99 %v, longest %v", swaps, len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
}

func available(c servable.Catalog, version int) bool {
	newest := c.Status("m")[0]
	return newest.ID.Version == int64(version) && newest.State == servable.Available
}

// half requests x/2 + 2 or x/2 + 3, depending on whether the version that answers is even or odd.
func half(ctx context.Context, c *client.Client, x float32) error {
	p, err := c.Predict(ctx, client.Model{Name: "m"}, client.Inputs{"x": []float32{x}})
	if err != nil {
		return err
	}
	y, err := client.Output[[]float32](p, "y")
	if err != nil {
		return err
	}
	if want := x/2 + 2 + float32(p.Version%2); len(y) != 1 || y[0] != want {
		return fmt.Errorf("version %d of x = %v: got %v, want %v", p.Version, x, y, want)
	}
	return nil
}
