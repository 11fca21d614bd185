package manager

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/traffic"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Reload replaces the config: models that are not in it are unloaded. It scans the base paths at once and waits until each new or changed
// model is available, or has failed; then it sets labels. An invalid config changes nothing. A config whose models fail is in force
// nevertheless, as in TensorFlow Serving. So is a config whose ctx ends early; it gets its labels once its models are available. Errors
// carry a gRPC status.
func (m *Manager) Reload(ctx context.Context, cfg *config.ModelServerConfig) error {
	return m.Edit(ctx, "", func(*config.ModelServerConfig) (*config.ModelServerConfig, error) { return cfg, nil })
}

// Edit is Reload with the result of change, which gets a copy of the config in force (nil: none); no other Reload runs meanwhile. The model
// named again counts as changed even if it is not, so that its failed versions are tried once more. "": none.
func (m *Manager) Edit(ctx context.Context, again string, change func(now *config.ModelServerConfig) (*config.ModelServerConfig, error)) error {
	select {
	case m.reloading <- struct{}{}:
		defer func() { <-m.reloading }()
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	now := m.Config()
	cfg, err := change(proto.CloneOf(now))
	if err != nil {
		return err
	}
	if err := Validate(now, cfg); err != nil {
		return err
	}
	cfg = proto.CloneOf(cfg)
	await, err := m.configure(cfg, again)
	if err != nil {
		return err
	}
	if m.o.Poll < 0 && !m.Ready() {
		await = nil
	} else {
		m.scanAll(m.configured(), asked)
	}
	err = m.await(ctx, await)
	if m.o.Partial && !m.Ready() && status.Code(err) == codes.Unknown {
		m.o.Log.Error("models are missing", "error", statustext.Convert(err).Message())
		err = nil
	}
	if err != nil {
		if ctx.Err() != nil {
			m.labelInBackground(cfg, await)
		}
		return err
	}
	if err := m.Label(cfg); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
	m.notify()
	return nil
}

// configure puts cfg in force and returns the models that are new, changed, or named again.
func (m *Manager) configure(cfg *config.ModelServerConfig, again string) ([]*model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, status.Error(codes.Unavailable, "the server is shutting down")
	}
	m.cfg = cfg
	rows := map[string]*servedModel{}
	var await []*model
	for _, c := range cfg.GetModelConfigList().GetConfig() {
		f := m.models[c.Name]
		if f == nil {
			f = &model{lifecycle: lifecycle{name: c.Name, policy: m.o.Policy, ended: m.ended}, served: newServedModel()}
			m.models[c.Name] = f
		}
		if f.cfg == nil || c.Name == again || !proto.Equal(f.cfg, c) {
			await = append(await, f)
			f.scanned, f.warning = false, ""
			f.dropFailed()
		}
		if f.cfg == nil {
			f.wanted = m.o.Lazy == 0
		}
		f.cfg = c
		rows[c.Name] = f.served
	}
	m.served.Store(&rows)
	for _, name := range slices.Collect(maps.Keys(m.models)) {
		if f := m.models[name]; rows[name] == nil {
			f.cfg, f.chosen = nil, nil
			m.route(f, nil, traffic.Rules{})
			m.aspire(f)
		}
	}
	return await, nil
}

// configured returns the models of the config.
func (m *Manager) configured() []*model {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*model
	for _, f := range m.models {
		if f.cfg != nil {
			out = append(out, f)
		}
	}
	return out
}

// await waits until the outcome of models is known. For the first config, it waits up to StartWait for files that are not there yet.
func (m *Manager) await(ctx context.Context, models []*model) error {
	var timeout <-chan time.Time
	if !m.Ready() && m.o.StartWait > 0 && m.o.Poll > 0 {
		timeout = m.o.Clock.After(m.o.StartWait)
	}
	for {
		m.mu.Lock()
		changed := m.changed
		known, absent, err := m.outcome(models)
		closed := m.closed
		m.mu.Unlock()
		switch {
		case closed:
			return status.Error(codes.Unavailable, "the server is shutting down")
		case known && (timeout == nil || !absent):
			return err
		}
		select {
		case <-changed:
		case <-timeout:
			timeout = nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// outcome reports whether the outcome of models is known, whether some have nothing on disk,
// and which have failed. m.mu is held.
func (m *Manager) outcome(models []*model) (known, absent bool, err error) {
	var failed []string
	for _, f := range models {
		switch {
		case f.cfg == nil: // removed from the config meanwhile
		case !f.scanned || !f.converged():
			return false, false, nil
		case f.problem != nil && !f.servesBase():
			absent = true
			failed = append(failed, fmt.Sprintf("{{name: %s} due to error: %s}, ", f.name, describe(f.problem)))
		case f.wanted:
			failed = append(failed, failures(f)...)
		}
	}
	if len(failed) == 0 {
		return true, false, nil
	}
	slices.Sort(failed)
	return true, absent, status.Errorf(codes.Unknown, "%d model(s) did not become available: {%s}", len(failed), strings.Join(failed, ""))
}

// servesBase reports whether a version below the base path of the config is available.
func (f *model) servesBase() bool {
	return slices.ContainsFunc(f.available(), func(e *entry) bool { return filepath.Dir(e.dir) == filepath.Clean(basePath(f.cfg)) })
}

// failures describes the aspired versions of f that failed, where none is available.
func failures(f *model) []string {
	var out []string
	for _, e := range f.versions {
		if e.aspired && e.state == servable.Available {
			return nil
		}
		if e.aspired && e.err != nil {
			out = append(out, fmt.Sprintf("{%s due to error: %s}, ", e.id, describe(e.err)))
		}
	}
	return out
}

// labelInBackground sets the labels of cfg once models are available, after Reload has stopped waiting for them.
func (m *Manager) labelInBackground(cfg *config.ModelServerConfig, models []*model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.work.Go(func() {
		err := m.await(m.ctx, models)
		if err == nil {
			err = m.Label(cfg)
		}
		if err != nil && m.ctx.Err() == nil {
			m.o.Log.Error("a config whose reload was abandoned", "error", statustext.Of(err))
		}
	})
}

// Label sets the version labels and traffic rules of cfg: all, or none if one may not be set or cfg is no longer in force. A Reload that
// returned an error may be completed by it.
func (m *Manager) Label(cfg *config.ModelServerConfig) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cfg != cfg {
		return nil
	}
	for _, c := range cfg.GetModelConfigList().GetConfig() {
		f := m.models[c.Name]
		if f == nil || f.cfg == nil {
			continue
		}
		for _, label := range slices.Sorted(maps.Keys(c.VersionLabels)) {
			if version := c.VersionLabels[label]; !m.canLabel(f, label, version) {
				return status.Errorf(codes.FailedPrecondition, "Request to assign label to version %d of model %s, which is not currently available for inference", version, c.Name)
			}
		}
	}
	for _, c := range cfg.GetModelConfigList().GetConfig() {
		if f := m.models[c.Name]; f != nil && f.cfg != nil {
			rules, err := traffic.Of(c)
			if err != nil { // Validate has reported it
				return status.Error(codes.InvalidArgument, err.Error())
			}
			m.route(f, c.VersionLabels, rules)
		}
	}
	return nil
}

// canLabel reports whether label may name version of f: one that is available or, for lazy models, on disk. If the options allow any
// version, label must not name another one already. m.mu is held.
func (m *Manager) canLabel(f *model, label string, version int64) bool {
	if !f.wanted && slices.ContainsFunc(f.chosen, func(v versionDir) bool { return v.number == version }) {
		return true
	}
	if slices.ContainsFunc(f.available(), func(e *entry) bool { return e.id.Version == version }) {
		return true
	}
	now, taken := f.served.versions.Load().labels[label]
	return m.o.LabelsForUnavailable && (!taken || now == version)
}

// describe is TensorFlow's form of an error, "NOT_FOUND: text".
func describe(err error) string {
	s := statustext.Convert(err)
	return codeName(s.Code()) + ": " + s.Message()
}

// codeName is the canonical name of a code, as in "INVALID_ARGUMENT".
func codeName(c codes.Code) string {
	var b strings.Builder
	for i, r := range c.String() {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	if c == codes.Canceled {
		return "CANCELLED"
	}
	return strings.ToUpper(b.String())
}
