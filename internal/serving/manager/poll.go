package manager

import (
	"cmp"
	"log/slog"
	"slices"

	"github.com/fsnotify/fsnotify"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// scanReason is why base paths are scanned.
type scanReason int

const (
	asked  scanReason = iota // by a Reload: versions count as they are
	hinted                   // the file system reported a change, which may still be going on
	polled                   // a Poll has passed since the last look
)

// hintLimit is how many hints in a row may put off a poll.
const hintLimit = 10

// pollLoop scans the base paths every Poll, and when the file system reports a change.
// Only polls decide: a hint just starts the time for which a new version must stay
// unchanged.
func (m *Manager) pollLoop() {
	poll := m.o.Clock.After(m.o.Poll)
	hints := 0
	for {
		why := polled
		select {
		case <-poll:
			hints = 0
		case <-m.hints:
			why = hinted
			hints++
		case <-m.ctx.Done():
			return
		}
		m.scanAll(m.configured(), why)
		if why == polled || hints <= hintLimit {
			poll = m.o.Clock.After(m.o.Poll)
		}
	}
}

// scanAll scans the base paths of models and begins what has become due.
func (m *Manager) scanAll(models []*model, why scanReason) {
	for _, f := range models {
		m.scanModel(f, why)
	}
	if m.watch != nil {
		m.watch.follow(m.basePaths())
	}
}

func (m *Manager) scanModel(f *model, why scanReason) {
	m.mu.Lock()
	cfg, closed, before := f.cfg, m.closed, scanResult{f.chosen, f.seen}
	if !f.scanned {
		why = asked
	}
	failed, waiting := map[string]bool{}, map[string]string{} // fingerprints of those that wait for another attempt
	for _, e := range f.versions {
		if e.state == servable.End {
			failed[e.dir] = true
		}
		if e.again != nil && why == polled {
			waiting[e.dir] = ""
		}
	}
	m.mu.Unlock()
	if cfg == nil || closed {
		return
	}
	now, warning, err := scanConfig(cfg, before, why)
	chosen := now.chosen
	for i := range chosen {
		if failed[chosen[i].dir] {
			chosen[i].fingerprint = fingerprint(chosen[i].dir)
		}
	}
	for dir := range waiting {
		waiting[dir] = fingerprint(dir)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.cfg != cfg || m.closed {
		return // reloaded in the meantime
	}
	for _, e := range f.versions {
		if now, ok := waiting[e.dir]; ok && e.again != nil {
			e.again.look(now, e.fingerprint)
		}
	}
	if warning != "" && warning != f.warning {
		m.o.Log.Warn("looking for versions", "model", f.name, "problem", warning)
	}
	changed := !f.scanned || err == nil && !slices.Equal(chosen, f.chosen)
	f.warning, f.scanned, f.problem = warning, true, err
	if err == nil {
		f.chosen, f.seen = chosen, now.fingerprints // otherwise the present versions are kept
		switch {
		case len(chosen) == 0 && warning == "":
			f.problem = status.Errorf(codes.NotFound, "the versions of servable %s under base path %s are still being written", f.name, basePath(cfg))
		case len(chosen) == 0:
			f.problem = status.Error(codes.NotFound, warning)
		}
	}
	if changed {
		m.aspire(f)
	}
}

// scanResult is what a base path holds: the versions that the config picks, and
// the fingerprints of all version directories.
type scanResult struct {
	chosen       []versionDir
	fingerprints map[string]string
}

// scanConfig scans a base path; warning joins all warnings.
func scanConfig(cfg *config.ModelConfig, before scanResult, why scanReason) (now scanResult, warning string, err error) {
	warn := func(s string) {
		if warning != "" {
			warning += "; "
		}
		warning += s
	}
	all, err := scan(cfg.Name, basePath(cfg), warn)
	if err != nil {
		return now, statustext.Convert(err).Message(), err
	}
	complete, marks := stableVersions(all, before.fingerprints, why)
	if len(complete) < len(all) {
		complete = keepServed(complete, before.chosen, marks)
	}
	return scanResult{picked(cfg, complete, warn), marks}, warning, nil
}

// keepServed adds served versions that were removed, while new ones are still
// incomplete: otherwise the model would go before its successor is there.
func keepServed(complete, served []versionDir, marks map[string]string) []versionDir {
	for _, v := range served {
		if _, there := marks[v.dir]; !there {
			complete = append(complete, versionDir{number: v.number, dir: v.dir})
		}
	}
	slices.SortFunc(complete, func(a, b versionDir) int { return cmp.Compare(b.number, a.number) })
	return complete
}

// stable is the fingerprint of versions that were once found complete; later changes of
// their files do not matter.
const stable = ""

// stableVersions leaves out versions that are new, or whose files have changed since the last scan: they may still be being copied. before and
// seen are fingerprints by directory.
func stableVersions(all []versionDir, before map[string]string, why scanReason) (complete []versionDir, seen map[string]string) {
	seen = make(map[string]string, len(all))
	for _, v := range all {
		last, known := before[v.dir]
		if why == asked || known && last == stable {
			seen[v.dir] = stable
			complete = append(complete, v)
			continue
		}
		now := fingerprint(v.dir)
		if why == polled && known && last == now {
			seen[v.dir] = stable
			complete = append(complete, v)
			continue
		}
		seen[v.dir] = now
	}
	return complete, seen
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

// watcher asks the operating system to report changes below base paths.
type watcher struct {
	fs *fsnotify.Watcher // nil if the system offers none
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
				// An overflow loses hints; the next poll finds the changes.
			}
		}
	}()
	return &watcher{fs: w}
}

// follow replaces the watched paths; paths that do not exist are only polled.
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
