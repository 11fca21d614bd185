package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// aspire makes the versions that f's config picks on disk the aspired ones, and begins what that takes. m.mu is held.
func (m *Manager) aspire(f *model) {
	var want []versionDir
	if f.wanted && f.cfg != nil {
		want = f.chosen
	}
	f.lifecycle.aspire(want)
	m.step(f)
}

// step begins what is next for f. m.mu is held.
func (m *Manager) step(f *model) {
	f.step(func(a action, e *entry) {
		switch a {
		case load:
			m.o.Log.Info("loading", "model", e.id.Name, "version", e.id.Version, "dir", e.dir)
			ctx, abandon := context.WithCancel(m.ctx)
			e.abandon, e.fingerprint = abandon, ""
			slots := m.slots
			if !m.started {
				slots = m.first
			}
			m.work.Go(func() { m.load(ctx, f, e, slots) })
		case unload:
			m.o.Log.Info("unloading", "model", e.id.Name, "version", e.id.Version)
			m.publish(f)
			e.retire()
			m.work.Go(func() { m.unload(f, e) })
		}
	})
	if f.cfg == nil && len(f.versions) == 0 && m.models[f.name] == f {
		delete(m.models, f.name)
	}
	m.notify()
}

// load brings one version to Available or to its End. abandoned ends further attempts, but not a running one, which would leave half of the
// work undone.
func (m *Manager) load(abandoned context.Context, f *model, e *entry, slots chan struct{}) {
	var loaded servable.Model
	var err error
	var before string
	for left := m.o.Retries; ; left-- {
		before = fingerprint(e.dir)
		loaded, err = m.attempt(abandoned, e, slots)
		if err == nil || left <= 0 || !retryable(err) && !m.mayBeIncomplete(err) {
			break
		}
		m.o.Log.Warn("loading failed and will be tried again", "model", e.id.Name, "version", e.id.Version, "after", m.o.RetryInterval, "error", statustext.Of(err))
		changed, ok := m.waitToRetry(abandoned, e, err, before)
		if !ok {
			err = errAbandoned
			break
		}
		if changed {
			left = m.o.Retries + 1
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.abandon()
	e.fingerprint = before
	m.freeSoon()
	f.loaded(e, loaded, err)
	if err != nil {
		m.o.Log.Error("loading failed", "model", e.id.Name, "version", e.id.Version, "error", statustext.Of(err))
	} else {
		m.o.Log.Info("available", "model", e.id.Name, "version", e.id.Version)
		m.publish(f)
	}
	m.step(f)
}

// waitToRetry waits until a failed version may be loaded again: for RetryInterval, or until its files have changed and then stayed the same
// for a poll. It returns false if nobody wants the version any more.
func (m *Manager) waitToRetry(abandoned context.Context, e *entry, err error, before string) (changed, ok bool) {
	a := &again{changed: make(chan struct{})}
	m.mu.Lock()
	e.again, e.err, e.fingerprint = a, statustext.Convert(err).Err(), before
	m.notify()
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		e.again, e.err = nil, nil
		m.mu.Unlock()
	}()
	select {
	case <-a.changed:
		return true, true
	case <-m.o.Clock.After(m.o.RetryInterval):
		return fingerprint(e.dir) != before, true
	case <-abandoned.Done():
		return false, false
	}
}

// attempt loads, wraps and warms up one version once a slot is free.
func (m *Manager) attempt(abandoned context.Context, e *entry, slots chan struct{}) (loaded servable.Model, err error) {
	select {
	case slots <- struct{}{}:
	case <-abandoned.Done():
		return nil, errAbandoned
	}
	defer func() { <-slots }()
	report := Load{ID: e.id, Dir: e.dir}
	defer func() {
		if m.o.Loaded != nil {
			report.Err = err
			m.o.Loaded(report)
		}
	}()
	began := time.Now()
	loaded, err = m.loadOnce(e)
	report.Duration = time.Since(began)
	if err != nil || m.o.WarmUp == nil {
		return loaded, err
	}
	began = time.Now()
	err = m.recoverPanic(func() error { return m.o.WarmUp(m.ctx, e.id, loaded, e.dir) })
	report.WarmUp = time.Since(began)
	if err != nil {
		m.close(e.id, loaded)
		return nil, status.Errorf(status.Code(err), "warm-up: %s", statustext.Convert(err).Message())
	}
	return loaded, nil
}

func (m *Manager) loadOnce(e *entry) (loaded servable.Model, err error) {
	loaded, err = m.read(e)
	if err != nil || m.o.Wrap == nil {
		return loaded, err
	}
	inner := loaded
	err = m.recoverPanic(func() (err error) {
		loaded, err = m.o.Wrap(e.id, inner, e.dir)
		return err
	})
	if err != nil {
		m.close(e.id, inner)
		return nil, err
	}
	return loaded, nil
}

// abandonAfter is how long a closing Manager waits for loaders that ignore their context, such as one that reads a large file.
const abandonAfter = time.Second

// read calls the loader. A closing Manager does not wait for it long: a model that is loaded nevertheless is closed.
func (m *Manager) read(e *entry) (servable.Model, error) {
	type result struct {
		model servable.Model
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = m.recoverPanic(func() (err error) {
			r.model, err = m.o.Loader.Load(m.ctx, e.dir)
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.model, r.err
	case <-m.ctx.Done():
	}
	select {
	case r := <-done:
		return r.model, r.err
	case <-m.o.Clock.After(abandonAfter):
	}
	go func() {
		if r := <-done; r.err == nil {
			m.close(e.id, r.model)
		}
	}()
	return nil, status.Error(codes.Canceled, "the server ended while the model was loaded")
}

// recoverPanic turns a panic of f into an error: a bad model must not end the server.
func (m *Manager) recoverPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New("loading", p)
		}
		fault.Log(m.o.Log, err)
	}()
	return f()
}

func (m *Manager) close(id servable.ID, closing servable.Model) {
	if err := m.recoverPanic(closing.Close); err != nil {
		m.o.Log.Warn("closing a model failed", "model", id.Name, "version", id.Version, "error", err)
	}
}

// retryable reports whether another attempt may succeed: after unreadable files and exhausted resources, but not with a wrong model.
func retryable(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.DeadlineExceeded, codes.Aborted:
		return true
	}
	var path *fs.PathError
	return errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist)
}

// mayBeIncomplete reports whether the first config waits for a failed version, since its files may still be being copied. It does not wait
// for a version that needs an unsupported op, or that nobody wants any more. Later configs do not wait: failed versions are tried again
// when their files change.
func (m *Manager) mayBeIncomplete(err error) bool {
	m.mu.Lock()
	first := !m.started && !m.closed
	m.mu.Unlock()
	return first && !m.o.Partial && status.Code(err) != codes.Unimplemented && !errors.Is(err, errAbandoned)
}

// unload closes a version once nobody uses it. The policy has taken it out of
// what requests see.
func (m *Manager) unload(f *model, e *entry) {
	<-e.drained
	m.close(e.id, e.model)
	if m.o.Unloaded != nil {
		m.o.Unloaded(e.id, e.dir)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.model = nil
	f.unloaded(e)
	m.step(f)
	m.freeSoon()
}

// freeSoon requests that memory is returned to the system: a closed version's, or what loading used.
func (m *Manager) freeSoon() {
	select {
	case m.free <- struct{}{}:
	default:
	}
}

// freeLoop gives memory back after loading and unloading, at most once a second since that
// takes time from requests.
func (m *Manager) freeLoop() {
	for {
		select {
		case <-m.free:
		case <-m.ctx.Done():
			return
		}
		m.o.FreeMemory()
		select {
		case <-m.o.Clock.After(time.Second):
		case <-m.ctx.Done():
			return
		}
	}
}

// busy is the error of a Close whose context ended with cause.
func (m *Manager) busy(cause error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, f := range m.models {
		for _, e := range f.versions {
			ids = append(ids, e.id.String())
		}
	}
	return fmt.Errorf("closing: still in use: %s: %w", strings.Join(ids, ", "), cause)
}
