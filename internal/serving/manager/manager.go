package manager

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// Options say how a Manager works. The zero value of a field is its default.
type Options struct {
	Loader servable.Loader // required
	// Wrap puts a layer, such as batching, between a loaded model and its users; closing what it returns closes m.
	Wrap func(id servable.ID, m servable.Model, dir string) (servable.Model, error)
	// WarmUp runs before a version becomes available; an error fails the version.
	WarmUp func(ctx context.Context, id servable.ID, m servable.Model, dir string) error
	Policy Policy
	// Poll is the time between scans of the base paths. 0 scans only at each Reload; less than 0 only at Reloads after the first.
	Poll time.Duration
	// Retries is how often a load is tried again after a temporary error, RetryInterval apart (default a minute).
	Retries       int
	RetryInterval time.Duration
	// Threads is how many versions load at the same time, once the first config is loaded (default 1). The versions of the
	// first config load on FirstThreads (default: as many as there are CPUs).
	Threads, FirstThreads int
	// LabelsForUnavailable lets a new label name a version that is not available.
	LabelsForUnavailable bool
	// Lazy, if above 0, is how many models are kept loaded: a model is loaded on its first request, in place of the least recently
	// requested one. The request waits up to LazyWait (default 30 s).
	Lazy     int
	LazyWait time.Duration
	// StartWait is how long the first Reload waits for base paths and versions that are not there yet.
	StartWait time.Duration
	// Partial accepts the first config although some of its models fail; the failures are logged.
	Partial bool
	// Loaded is called after each attempt to load.
	Loaded func(Load)
	// Unloaded is called for each version that was available and is closed.
	Unloaded func(id servable.ID, dir string)
	// FreeMemory runs after loading and unloading, at most once a second; the default gives free memory back to the system.
	FreeMemory func()
	Clock      Clock
	Log        *slog.Logger
}

// Load describes an attempt to load a version.
type Load struct {
	ID       servable.ID
	Dir      string
	Err      error
	Duration time.Duration // of loading, without warm-up
	WarmUp   time.Duration // 0 if there is none
}

// Clock is a Manager's source of time.
type Clock interface {
	After(d time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Manager keeps models loaded as a config says. It is a servable.Source and a
// servable.Catalog.
type Manager struct {
	o      Options
	served atomic.Pointer[map[string]*servedModel]
	uses   atomic.Int64 // counts lazy acquisitions: a clock for the least recently used

	reloading chan struct{} // holds a token while a Reload is going on
	slots     chan struct{} // one token for each load going on
	first     chan struct{} // the same, for the first config
	free      chan struct{} // asks for memory to be freed
	hints     chan struct{} // a base path has changed
	ctx       context.Context
	stop      context.CancelFunc
	work      sync.WaitGroup // loads, unloads and loops

	mu      sync.Mutex
	cfg     *config.ModelServerConfig
	models  map[string]*model
	history []servable.Status // versions that have ended, the oldest first
	changed chan struct{}     // closed at the next change
	started bool
	closed  bool
	watch   *watcher
}

// model is one configured model, or one that was and still holds versions.
type model struct {
	lifecycle
	cfg     *config.ModelConfig // nil: no longer configured
	served  *servedModel
	chosen  []versionDir      // the versions on disk that the config's policy picks
	seen    map[string]string // fingerprints of the versions on disk by directory: see stableVersions
	scanned bool
	problem error  // of the last look at the base path
	warning string // the last warning that was logged, so that it is logged once
	wanted  bool   // not lazy, or asked for
}

// historyLimit is how many ended versions are remembered.
const historyLimit = 100

var (
	_ servable.Source  = (*Manager)(nil)
	_ servable.Catalog = (*Manager)(nil)
	_ servable.Meter   = (*Manager)(nil)
)

// New returns a Manager without models; Reload adds them. It must be closed.
func New(o Options) (*Manager, error) {
	if o.Loader == nil {
		return nil, errors.New("manager: no loader")
	}
	setDefault(&o.RetryInterval, time.Minute)
	setDefault(&o.Threads, 1)
	setDefault(&o.FirstThreads, runtime.NumCPU())
	setDefault(&o.LazyWait, 30*time.Second)
	if o.FreeMemory == nil {
		o.FreeMemory = debug.FreeOSMemory
	}
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{
		o:         o,
		reloading: make(chan struct{}, 1),
		slots:     make(chan struct{}, o.Threads),
		first:     make(chan struct{}, o.FirstThreads),
		free:      make(chan struct{}, 1),
		hints:     make(chan struct{}, 1),
		models:    map[string]*model{},
		changed:   make(chan struct{}),
	}
	m.served.Store(&map[string]*servedModel{})
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.work.Go(m.freeLoop)
	if o.Poll > 0 {
		m.watch = newWatcher(m.hints, o.Log)
		m.work.Go(m.pollLoop)
	}
	return m, nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Models implements servable.Catalog: the names in the config.
func (m *Manager) Models() []string {
	return slices.Sorted(maps.Keys(*m.served.Load()))
}

// Has reports whether a model of that name is in the config.
func (m *Manager) Has(name string) bool {
	_, ok := (*m.served.Load())[name]
	return ok
}

// Config returns the config in force, which must not be changed.
func (m *Manager) Config() *config.ModelServerConfig {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cfg
}

// Ready reports whether the first config is loaded and the Manager is not closed.
func (m *Manager) Ready() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.started && !m.closed
}

// Status implements servable.Catalog. It knows the newest hundred ended versions of all models. A lazy model that is not loaded has its
// versions in state Start.
func (m *Manager) Status(name string) []servable.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	byVersion := map[int64]servable.Status{}
	for _, s := range m.history {
		if s.ID.Name == name {
			byVersion[s.ID.Version] = s
		}
	}
	if f := m.models[name]; f != nil {
		if !f.wanted {
			for _, v := range f.chosen {
				id := servable.ID{Name: name, Version: v.number}
				byVersion[v.number] = servable.Status{ID: id, State: servable.Start}
			}
		}
		for _, e := range f.versions {
			if s, ok := byVersion[e.id.Version]; !ok || s.State == servable.End || s.State == servable.Start || e.state == servable.Available {
				byVersion[e.id.Version] = servable.Status{ID: e.id, State: e.state, Err: e.err}
			}
		}
	}
	return slices.SortedFunc(maps.Values(byVersion), func(a, b servable.Status) int {
		return cmp.Compare(b.ID.Version, a.ID.Version)
	})
}

// Usage implements servable.Meter. It takes no lock, since a version may wait for a run before it answers.
func (m *Manager) Usage(name string) map[int64]servable.Usage {
	r := (*m.served.Load())[name]
	if r == nil {
		return nil
	}
	all := map[int64]servable.Usage{}
	now := r.versions.Load()
	for _, e := range now.versions {
		if _, ok := all[e.id.Version]; ok || !e.acquire() {
			continue // a version in another folder that is being replaced, or one that ends
		}
		u := servable.UsageOf(e.model)
		u.Since = e.since
		u.Share, u.Shadow = now.share(e.id.Version)
		all[e.id.Version] = u
		e.release()
	}
	return all
}

// ended remembers the end of a version. m.mu is held.
func (m *Manager) ended(s servable.Status) {
	m.history = slices.DeleteFunc(m.history, func(old servable.Status) bool { return old.ID == s.ID })
	m.history = append(m.history, s)
	if n := len(m.history) - historyLimit; n > 0 {
		m.history = slices.Delete(m.history, 0, n)
	}
}

// notify wakes everyone who waits for a change. m.mu is held.
func (m *Manager) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Close unloads everything, each version when its last user has released it. The
// error says what was still in use when ctx ended.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		m.stop()
		m.served.Store(&map[string]*servedModel{})
		for _, f := range m.models {
			f.cfg, f.chosen = nil, nil
			m.aspire(f)
		}
		if m.watch != nil {
			m.watch.close()
		}
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return m.busy(ctx.Err())
	}
}
