package serving

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/batching/limit"
	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/objectstore"
	"github.com/goestimator/goestimator/internal/serving/profiler"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/shadow"
	"github.com/goestimator/goestimator/internal/serving/warmup"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// warmUpLimit bounds the warm-up of a version, so that requests that do not end do not block the loading of other versions.
const warmUpLimit = 10 * time.Minute

// newManager makes the manager of s. As the options say, its models are batched,
// limited, warmed up and counted.
func (s *Server) newManager() (*manager.Manager, error) {
	o := s.o.Loading.manager()
	o.Loader, o.Wrap, o.Log = s.o.Loader.servable(), s.wrap, s.o.Log
	if !s.o.NoWarmUp {
		o.WarmUp = func(ctx context.Context, id servable.ID, m servable.Model, dir string) error {
			ctx, stop := context.WithTimeout(ctx, warmUpLimit)
			defer stop()
			return warmup.Run(ctx, m, id, dir, warmup.Options{Iterations: s.o.WarmUpRuns, Memory: s.memory})
		}
	}
	o.Partial = o.Partial || s.o.Models.Root != ""
	o.Loaded = func(l manager.Load) {
		s.registry.Loaded(l.Dir, l.Duration, l.Err)
		if l.WarmUp > 0 {
			s.registry.WarmedUp(l.Dir, l.WarmUp, l.Err)
		}
	}
	o.Unloaded = s.registry.Remove
	return manager.New(o)
}

// wrap adds batching and the overload limit to a model.
func (s *Server) wrap(id servable.ID, m servable.Model, dir string) (servable.Model, error) {
	m = profiler.Wrap(id, m)
	over := limit.Options{Hold: true}
	p, batched, err := s.o.Batching.of(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", batching.ParametersFile, err)
	}
	if batched {
		m = batching.New(id, m, p, s.scheduler)
		over = limit.Options{Rows: true, Slots: s.o.Batching.NumBatchThreads * p.BatchRows()}
	}
	if s.o.Overload == nil {
		return m, nil
	}
	if over.Hold {
		over.Slots = s.o.Overload.Slots
	}
	over.MaxDelay = s.o.Overload.MaxDelay
	return limit.New(over).Wrap(m), nil
}

// newMirror makes the mirror that copies requests to other versions. The copies have their own memory limit, an eighth of the limit for
// requests, so that no request is refused because of them.
func (s *Server) newMirror() *shadow.Mirror {
	o := shadow.Options{Models: s.models, Shadow: s.models.Shadow, Observers: []shadow.Observer{s.registry}, Log: s.o.Log,
		Memory: budget.NewServer(budget.Limits{Server: s.memory.Limits().Server / 8, Request: s.o.Requests.MemoryEach})}
	if s.page != nil {
		o.Observers = append(o.Observers, s.page)
	}
	return shadow.New(o)
}

// notReady lists the versions that failed to load and will be tried again, one per line. It returns "" if there is a token, since readiness
// checks do not send one.
func (s *Server) notReady() string {
	if s.o.Token != nil {
		return ""
	}
	var lines strings.Builder
	for _, name := range s.models.Models() {
		for _, v := range s.models.Status(name) {
			if v.State == servable.Loading && v.Err != nil {
				fmt.Fprintf(&lines, "model %s version %d: %s\n", printable.Text(name), v.ID.Version, printable.Text(statustext.Convert(v.Err).Message()))
			}
		}
	}
	return lines.String()
}

// source is the models as requests see them. Until the first config is loaded, missing
// models may still appear, so the error asks clients to try again.
type source struct{ *manager.Manager }

// Acquire implements servable.Source.
func (s source) Acquire(name string, v servable.Version) (servable.Handle, error) {
	h, err := s.Manager.Acquire(name, v)
	if err != nil && status.Code(err) == codes.NotFound && !s.Ready() {
		return nil, status.Errorf(codes.Unavailable, "%s: the server is loading its models", statustext.Convert(err).Message())
	}
	return h, err
}

// Reload replaces the config, and unloads models that are not in the new one. It waits until each new or changed model is
// available, or has failed. New versions of the other models are loaded in the background; the old ones answer until then,
// and the client's Status shows the progress. An invalid config changes nothing. A config whose models fail to load takes
// effect nevertheless, as in TensorFlow Serving. The config also determines which requests are logged. Errors carry a gRPC status.
func (s *Server) Reload(ctx context.Context, cfg *config.ModelServerConfig) error {
	return s.reload(ctx, cfg, func() {})
}

// reload is Reload; it calls taken when cfg is known to be valid, and takes effect whatever error follows.
func (s *Server) reload(ctx context.Context, cfg *config.ModelServerConfig, taken func()) error {
	placed, err := objectstore.Placed(cfg)
	if err == nil {
		err = manager.Validate(s.models.Config(), placed) // do not wait for a reload in progress first
	}
	if err != nil {
		return err
	}
	return s.edit(ctx, "", func(*config.ModelServerConfig) (*config.ModelServerConfig, error) { return cfg, nil }, func() {
		s.repository.forget()
		taken()
	})
}

// edit is Reload with the config that change returns for the current one; see [manager.Manager.Edit]. It calls valid when the new config is
// known to be valid, before any other edit.
func (s *Server) edit(ctx context.Context, again string, change func(now *config.ModelServerConfig) (*config.ModelServerConfig, error), valid func()) error {
	return s.models.Edit(ctx, again, func(now *config.ModelServerConfig) (*config.ModelServerConfig, error) {
		cfg, err := change(proto.CloneOf(now))
		if err != nil {
			return nil, err
		}
		placed, err := objectstore.Placed(cfg)
		if err == nil {
			err = manager.Validate(now, placed)
		}
		if err == nil {
			cfg, err = s.store.Fetch(ctx, cfg)
		}
		if err == nil {
			err = s.requests.Configure(cfg)
		}
		if err == nil {
			valid()
		}
		return cfg, err
	})
}
