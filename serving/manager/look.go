package manager

import (
	"log/slog"
	"slices"

	"github.com/fsnotify/fsnotify"
	"github.com/goestimator/goestimator/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pollLoop looks at the base paths every Poll, and when the file system says
// that one has changed. The polls are the truth, the hints only make it quick.
func (m *Manager) pollLoop() {
	for {
		select {
		case <-m.o.Clock.After(m.o.Poll):
		case <-m.hints:
		case <-m.ctx.Done():
			return
		}
		m.look(m.configured())
	}
}

// look scans the base paths of models and begins what has become due.
func (m *Manager) look(models []*model) {
	for _, f := range models {
		m.lookAt(f)
	}
	if m.watch != nil {
		m.watch.follow(m.basePaths())
	}
}

func (m *Manager) lookAt(f *model) {
	m.mu.Lock()
	cfg, closed := f.cfg, m.closed
	failed := map[string]bool{}
	for _, e := range f.versions {
		if e.state == servable.End {
			failed[e.dir] = true
		}
	}
	m.mu.Unlock()
	if cfg == nil || closed {
		return
	}
	chosen, told, err := survey(cfg)
	for i := range chosen {
		if failed[chosen[i].dir] {
			chosen[i].mark = mark(chosen[i].dir)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.cfg != cfg || m.closed {
		return // reloaded in the meantime
	}
	if told != "" && told != f.told {
		m.o.Log.Warn(told, "model", f.name)
	}
	changed := !f.scanned || err == nil && !slices.Equal(chosen, f.chosen)
	f.told, f.scanned, f.problem = told, true, err
	if err == nil {
		f.chosen = chosen // else the versions that there are are kept
		if len(chosen) == 0 {
			f.problem = status.Error(codes.NotFound, told)
		}
	}
	if changed {
		m.aspire(f)
	}
}

// survey returns the versions that the config picks on disk, and the last of the
// warnings about them.
func survey(cfg *config.ModelConfig) (chosen []found, told string, err error) {
	warn := func(s string) { told = s }
	all, err := scan(cfg.Name, basePath(cfg), warn)
	if err != nil {
		return nil, status.Convert(err).Message(), err
	}
	chosen = choose(cfg.Name, all, cfg.ModelVersionPolicy, warn)
	return chosen, told, nil
}

func (m *Manager) basePaths() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, f := range m.models {
		if f.cfg != nil {
			out = append(out, basePath(f.cfg))
		}
	}
	return out
}

// watcher asks the operating system to tell of changes below base paths.
type watcher struct {
	fs *fsnotify.Watcher // nil where the system offers none
}

func newWatcher(hints chan<- struct{}, log *slog.Logger) *watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("base paths are polled only", "error", err)
		return &watcher{}
	}
	go func() {
		errors := w.Errors
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
				select {
				case hints <- struct{}{}:
				default:
				}
			case _, ok := <-errors:
				if !ok {
					errors = nil
				}
				// An overflow loses hints; the next poll finds what they were about.
			}
		}
	}()
	return &watcher{fs: w}
}

// follow makes paths what is watched; those that do not exist are left to polling.
func (w *watcher) follow(paths []string) {
	if w.fs == nil {
		return
	}
	wanted := map[string]bool{}
	for _, p := range paths {
		wanted[p] = true
	}
	for _, p := range w.fs.WatchList() {
		if !wanted[p] {
			_ = w.fs.Remove(p) // gone already
		}
		delete(wanted, p)
	}
	for p := range wanted {
		_ = w.fs.Add(p)
	}
}

func (w *watcher) close() {
	if w.fs != nil {
		_ = w.fs.Close()
	}
}
