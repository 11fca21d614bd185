package manager

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// TestLazy: models are loaded on their first request, no more than two of them, and the least recently requested one is
// evicted.
func TestLazy(t *testing.T) {
	d := newDisk(t)
	for _, name := range []string{"a", "b", "c"} {
		d.put(name, "1", "ok")
	}
	d.put("wrong", "1", "wrong")
	m := newManager(t, Options{Loader: d, Lazy: 2})
	if err := m.Reload(testContext(t), d.cfg("a", "b", "c", "wrong")); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		var out []string
		for _, name := range m.Models() {
			out = append(out, name+" "+m.states(name))
		}
		return strings.Join(out, "; ")
	}
	expect(t, "at the start", states(), "a 1 start; b 1 start; c 1 start; wrong 1 start")
	for _, s := range []struct{ ask, states string }{
		{"a", "a 1 available; b 1 start; c 1 start; wrong 1 start"},
		{"b", "a 1 available; b 1 available; c 1 start; wrong 1 start"},
		{"a", "a 1 available; b 1 available; c 1 start; wrong 1 start"},
		{"c", "a 1 available; b 1 start; c 1 available; wrong 1 start"},
	} {
		h, err := m.Acquire(s.ask, servable.Version{})
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
		m.until(t, s.ask+": "+s.states, func() bool { return states() == s.states })
	}
	_, err := m.Acquire("wrong", servable.Version{})
	expect(t, "a model that cannot be loaded", text(err), "NotFound: Servable not found for request: Latest(wrong)")
	_, err = m.Acquire("a", servable.Version{Number: 7, Exact: true})
	expect(t, "a version that is not there", text(err), "NotFound: Servable not found for request: Specific(a, 7)")
	_, err = m.Acquire("none", servable.Version{})
	expect(t, "a model that is not there", text(err), "NotFound: Servable not found for request: Latest(none)")
}

// TestLazyCrowd: many users of more models than may be loaded are all served.
func TestLazyCrowd(t *testing.T) {
	d := newDisk(t)
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprint("m", i))
		d.put(names[i], "1", "ok")
	}
	m := newManager(t, Options{Loader: d, Lazy: 3})
	if err := m.Reload(testContext(t), d.cfg(names...)); err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for u := range 12 {
		users.Go(func() {
			for i := range 20 {
				h, err := m.Acquire(names[(u+i)%len(names)], servable.Version{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := h.Model().Run(t.Context(), nil, nil); err != nil {
					t.Error(err)
				}
				h.Release()
			}
		})
	}
	users.Wait()
}

// TestLazyMakesWayMeanwhile: a model that is loaded when a user asks, but evicted before the user gets it, is loaded again.
func TestLazyMakesWayMeanwhile(t *testing.T) {
	d := newDisk(t)
	d.put("a", "1", "ok")
	d.put("b", "1", "ok")
	m := newManager(t, Options{Loader: d, Lazy: 1})
	if err := m.Reload(testContext(t), d.cfg("a", "b")); err != nil {
		t.Fatal(err)
	}
	use := func(name string) {
		t.Helper()
		h, err := m.Acquire(name, servable.Version{})
		if err != nil {
			t.Fatal(err)
		}
		h.Release()
	}
	use("a")
	changed, more := m.requestLoad("a")
	use("b")
	m.until(t, "a makes way", func() bool { return m.states("a") == "1 start" })
	if h, again, err := m.acquireOrWait("a", servable.Version{}, changed, more); more || h != nil || !again || err != nil {
		t.Errorf("more %v, got %v, again %v, %v; want that it is tried again", more, h, again, err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody tells that it is to be tried again")
	}
	use("a")
}

// TestLazyKeepsWhatIsAskedFor: a model that is being requested does not evict itself, however often others are requested
// meanwhile.
func TestLazyKeepsWhatIsAskedFor(t *testing.T) {
	d := newDisk(t)
	d.put("a", "1", "ok")
	d.put("b", "1", "ok")
	m := newManager(t, Options{Loader: d, Lazy: 1})
	if err := m.Reload(testContext(t), d.cfg("a", "b")); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, b := m.models["a"], m.models["b"]
	a.wanted, b.wanted = true, true
	a.served.used.Store(2)
	b.served.used.Store(1)
	m.evict(b)
	if a.wanted || !b.wanted {
		t.Errorf("wanted: a %v, b %v; want b alone", a.wanted, b.wanted)
	}
}

// TestLazyPatience: a request does not wait longer than its limit.
func TestLazyPatience(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.gate = make(chan struct{})
	m := newManager(t, Options{Loader: d, Lazy: 1, LazyWait: time.Millisecond})
	if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	_, err := m.Acquire("m", servable.Version{})
	expect(t, "slow", text(err), "Unavailable: model m is still being loaded after 1ms: try again")
	d.gate <- struct{}{}
	m.until(t, "available", func() bool { return m.states("m") == "1 available" })
}
