package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeout bounds every wait of these tests; none takes a noticeable part of it.
const timeout = time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	return ctx
}

// clock is a clock that advances when the test says so.
type clock struct {
	mu      sync.Mutex
	waiting map[time.Duration]chan time.Time
	changed chan struct{}
}

func newClock() *clock {
	return &clock{waiting: map[time.Duration]chan time.Time{}, changed: make(chan struct{})}
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waiting[d] = ch
	close(c.changed)
	c.changed = make(chan struct{})
	return ch
}

// waiter waits until a goroutine waits for d on a channel other than not.
func (c *clock) waiter(t testing.TB, d time.Duration, not chan time.Time) chan time.Time {
	t.Helper()
	limit := time.After(timeout)
	for {
		c.mu.Lock()
		ch, changed := c.waiting[d], c.changed
		c.mu.Unlock()
		if ch != nil && ch != not {
			return ch
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("nobody waits for %v", d)
		}
	}
}

// fire ends the wait for d of the goroutines that wait at this moment.
func (c *clock) fire(t testing.TB, d time.Duration) chan time.Time {
	t.Helper()
	for {
		ch := c.waiter(t, d, nil)
		if c.end(d, ch) {
			return ch
		}
	}
}

// end ends a wait for d; it returns false if nobody waits on that channel any more.
func (c *clock) end(d time.Duration, ch chan time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[d] != ch {
		return false
	}
	delete(c.waiting, d)
	ch <- time.Time{}
	return true
}

// tick ends a loop's wait for d, and returns when the loop waits again.
func (c *clock) tick(t testing.TB, d time.Duration) {
	t.Helper()
	c.waiter(t, d, c.fire(t, d))
}

// poke ends the wait for d, if there is one.
func (c *clock) poke(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.waiting[d]; ch != nil {
		delete(c.waiting, d)
		ch <- time.Time{}
	}
}

// disk is a temporary folder with base paths, and a loader for them. A version's file says how
// loading ends: "ok", "wrong", "busy" (a temporary error), "panic".
type disk struct {
	t      testing.TB
	root   string
	mu     sync.Mutex
	open   map[string]int // by directory, how many are loaded
	loads  map[string]int // attempts
	gate   chan struct{}  // if not nil, each load waits for a token
	closed []string
}

func newDisk(t testing.TB) *disk {
	return &disk{t: t, root: t.TempDir(), open: map[string]int{}, loads: map[string]int{}}
}

func (d *disk) base(model string) string { return filepath.Join(d.root, model) }

func (d *disk) put(model, version, content string) {
	d.t.Helper()
	dir := filepath.Join(d.root, model, version)
	temporary := filepath.Join(d.root, model, "temporary")
	for _, err := range []error{
		os.MkdirAll(temporary, 0o755),
		os.WriteFile(filepath.Join(temporary, "model"), []byte(content), 0o644),
	} {
		if err != nil {
			d.t.Fatal(err)
		}
	}
	err := os.Rename(temporary, dir)
	if err != nil { // it is there already
		err = errors.Join(os.Rename(filepath.Join(temporary, "model"), filepath.Join(dir, "model")), os.Remove(temporary))
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) remove(path ...string) {
	d.t.Helper()
	if err := os.RemoveAll(filepath.Join(append([]string{d.root}, path...)...)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *disk) Load(ctx context.Context, dir string) (servable.Model, error) {
	d.mu.Lock()
	d.loads[dir]++
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "model"))
	if err != nil {
		return nil, err
	}
	switch strings.TrimSpace(string(content)) {
	case "wrong":
		return nil, errors.New("the model is wrong")
	case "busy":
		return nil, &os.PathError{Op: "read", Path: dir, Err: errors.New("device busy")}
	case "lacking":
		return nil, status.Error(codes.Unimplemented, "an op is not there")
	case "panic":
		panic("at the loader")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[dir]++
	version, _ := strconv.ParseFloat(filepath.Base(dir), 32)
	var once sync.Once
	return &servable.Func{
		Compute: func(context.Context, map[string]*tensor.Tensor, []string) ([]*tensor.Tensor, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.open[dir] == 0 {
				return nil, errors.New("used after it was closed: " + dir)
			}
			return []*tensor.Tensor{tensor.Scalar(float32(version))}, nil
		},
		OnClose: func() error {
			err := errors.New("closed twice: " + dir)
			once.Do(func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.open[dir]--
				d.closed = append(d.closed, filepath.Base(dir))
				err = nil
			})
			return err
		},
	}, nil
}

func (d *disk) attempts(model, version string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loads[filepath.Join(d.root, model, version)]
}

func newManager(t testing.TB, o Options) *Manager {
	t.Helper()
	if o.FreeMemory == nil {
		o.FreeMemory = func() {}
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(testContext(t)); err != nil {
			t.Error(err)
		}
	})
	return m
}

// until waits until ok holds.
func (m *Manager) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.After(timeout)
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond): // ok may depend on the file system too
		case <-limit:
			t.Fatalf("%s: did not come about; m is %s", what, m.states("m"))
		}
	}
}

// states lists the statuses of a model, the newest first: "2 Available, 1 End".
func (m *Manager) states(model string) string {
	names := map[servable.State]string{servable.Start: "start", servable.Loading: "loading", servable.Available: "available", servable.Unloading: "unloading", servable.End: "end"}
	var out []string
	for _, s := range m.Status(model) {
		text := strconv.FormatInt(s.ID.Version, 10) + " " + names[s.State]
		if s.Err != nil {
			text += " (" + s.Err.Error() + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
