package manager

import (
	"errors"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"pgregory.net/rapid"
)

// TestAvailability: whatever is asked for, and however loading goes, a model that had an available
// version has one as long as any is asked for. In the end, the available versions are those asked
// for that can be loaded.
func TestAvailability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(AvailabilityPreserving)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			before := len(w.f.available())
			w.event(t)
			if before > 0 && len(w.f.available()) == 0 && len(w.aspired) > 0 {
				t.Fatalf("no version is available any more; asked for %v", w.aspired)
			}
		}
		w.finish(t)
	})
}

// TestResources: the policy that unloads first reaches the same end, and never loads a version
// beside one that is not asked for.
func TestResources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(ResourcePreserving)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			w.event(t)
		}
		w.finish(t)
		if w.crowded {
			t.Fatal("a version was loaded beside one that is not asked for")
		}
	})
}

// world is a lifecycle with loads and unloads that end when an event says so.
type world struct {
	f         *lifecycle
	aspired   []int64
	loading   []*entry
	unloading []*entry
	crowded   bool // a load began while a version was held that nobody asks for
}

func newWorld(p Policy) *world {
	return &world{f: &lifecycle{name: "m", policy: p, ended: func(servable.Status) {}}}
}

func (w *world) step() {
	w.f.step(func(a action, e *entry) {
		if a == load && w.f.policy == ResourcePreserving && slices.ContainsFunc(w.f.versions, func(e *entry) bool { return !e.aspired && e.state != servable.End }) {
			w.crowded = true
		}
		if a == load {
			w.loading = append(w.loading, e)
		} else {
			w.unloading = append(w.unloading, e)
		}
	})
}

func (w *world) event(t *rapid.T) {
	kind := rapid.SampledFrom([]string{"aspire", "load", "load", "unload"}).Draw(t, "event")
	switch {
	case kind == "aspire":
		w.aspired = rapid.SliceOfNDistinct(rapid.Int64Range(1, 6), 0, 3, rapid.ID).Draw(t, "aspired")
		w.aspire()
	case kind == "load" && len(w.loading) > 0:
		i := rapid.IntRange(0, len(w.loading)-1).Draw(t, "which")
		w.loaded(i, rapid.IntRange(0, 3).Draw(t, "fails") == 0)
	case kind == "unload" && len(w.unloading) > 0:
		i := rapid.IntRange(0, len(w.unloading)-1).Draw(t, "which")
		w.unloaded(i)
	}
}

func (w *world) aspire() {
	var fs []versionDir
	for _, n := range w.aspired {
		fs = append(fs, versionDir{number: n, dir: "dir"})
	}
	w.f.aspire(fs)
	w.step()
}

func (w *world) loaded(i int, fails bool) {
	e := w.loading[i]
	w.loading = slices.Delete(w.loading, i, i+1)
	var err error
	if fails {
		err = errors.New("wrong")
	}
	w.f.loaded(e, &servable.Func{}, err)
	w.step()
}

func (w *world) unloaded(i int) {
	e := w.unloading[i]
	w.unloading = slices.Delete(w.unloading, i, i+1)
	w.f.unloaded(e)
	w.step()
}

// finish lets all pending loads and unloads succeed and compares the result with the versions asked for.
func (w *world) finish(t *rapid.T) {
	for len(w.loading)+len(w.unloading) > 0 {
		if len(w.loading) > 0 {
			w.loaded(0, false)
		} else {
			w.unloaded(0)
		}
	}
	var want, got []int64
	for _, e := range w.f.versions {
		if e.aspired && e.err == nil {
			want = append(want, e.id.Version)
		}
		if e.aspired && !slices.Contains(w.aspired, e.id.Version) {
			t.Fatalf("version %d is aspired and was not asked for", e.id.Version)
		}
	}
	for _, e := range w.f.available() {
		got = append(got, e.id.Version)
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 && len(w.aspired) > 0 {
		if len(got) > 1 { // a version that was there before may be kept
			t.Fatalf("available: %v, where all of %v failed", got, w.aspired)
		}
		return
	}
	if !slices.Equal(want, got) {
		t.Fatalf("available: %v, want %v", got, want)
	}
}
