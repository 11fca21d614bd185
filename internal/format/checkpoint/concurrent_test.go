package checkpoint

import (
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// ofStep matches the prefix of a checkpoint in a path.
var ofStep = regexp.MustCompile(`model\.ckpt-[0-9]+`)

// yieldingFS lets other goroutines run at each operation, and records the step
// of each new file.
type yieldingFS struct {
	atomicfile.FS
	mu    sync.Mutex
	steps []int64
}

func (y *yieldingFS) yield() {
	for range 50 {
		runtime.Gosched()
	}
}

func (y *yieldingFS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	if at := ofStep.FindString(name); at != "" && flag&os.O_CREATE != 0 {
		step, _ := StepOf(at)
		y.mu.Lock()
		y.steps = append(y.steps, step)
		y.mu.Unlock()
	}
	y.yield()
	return y.FS.OpenFile(name, flag, perm)
}

func (y *yieldingFS) Rename(from, to string) error {
	y.yield()
	return y.FS.Rename(from, to)
}

// TestConcurrentSaves: saves from many goroutines run one after another,
// and all of them are on the list.
func TestConcurrentSaves(t *testing.T) {
	const saves = 8
	y := &yieldingFS{FS: atomicfile.NewMem()}
	s := newSaver(t, "/d", Options{FS: y})
	var all sync.WaitGroup
	for step := range int64(saves) {
		all.Go(func() {
			if _, err := s.Save(ctx, snapshot(step)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	order := slices.Compact(slices.Clone(y.steps))
	if len(y.steps) < 2*saves || len(order) != saves {
		t.Errorf("files of the steps %v were written in this order, expected those of each step together", y.steps)
	}
	st, err := s.readState()
	if err != nil {
		t.Fatal(err)
	}
	var listed []int64
	for _, p := range st.all {
		step, ok := StepOf(p)
		if !ok {
			t.Fatalf("the list has %q", p)
		}
		listed = append(listed, step)
	}
	if d := cmp.Diff(order, listed); d != "" {
		t.Errorf("the list, in the order of the saves: %s", d)
	}
}
