package manager

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// TestMemoryIsGivenBack: after twenty versions of 32 MiB, one after the other, the process holds no more than the last
// one.
func TestMemoryIsGivenBack(t *testing.T) {
	const size = 32 << 20
	d := newDisk(t)
	loader := servable.LoaderFunc(func(context.Context, string) (servable.Model, error) {
		weights := make([]byte, size)
		for i := 0; i < size; i += 4096 {
			weights[i] = 1
		}
		return &servable.Func{Compute: func(context.Context, map[string]*tensor.Tensor, []string) ([]*tensor.Tensor, error) {
			return []*tensor.Tensor{tensor.Scalar(int64(len(weights)))}, nil
		}}, nil
	})
	m, err := New(Options{Loader: loader}) // with the real FreeMemory
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(testContext(t)); err != nil {
			t.Error(err)
		}
	}()
	held := func() uint64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapSys - s.HeapReleased
	}
	before := held()
	for i := range 20 {
		d.put("m", fmt.Sprint(i), "ok")
		if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); held() > before+size*3/2; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > timeout {
			t.Fatalf("the process holds %d MiB, %d before; expected one version of %d more", held()>>20, before>>20, size>>20)
		}
	}
}

// TestMemoryIsGivenBackAfterLoading: memory used for reading a version is not kept until the next one is read.
func TestMemoryIsGivenBackAfterLoading(t *testing.T) {
	d := newDisk(t)
	freed := make(chan struct{}, 8)
	m, err := New(Options{FreeMemory: func() { freed <- struct{}{} }, Loader: servable.LoaderFunc(func(context.Context, string) (servable.Model, error) {
		return &servable.Func{}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(testContext(t)); err != nil {
			t.Error(err)
		}
	}()
	d.put("m", "1", "ok")
	if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-freed:
	case <-time.After(timeout):
		t.Error("no memory was given back")
	}
}
