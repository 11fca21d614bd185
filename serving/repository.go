package serving

import (
	"context"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// repository loads and unloads single models of the config. It implements openinference.Repository.
type repository struct {
	s *Server

	mu       sync.Mutex
	unloaded map[string]*config.ModelConfig // by name
}

// Load puts a model back that was unloaded, or looks for versions of one that is in the config.
func (r *repository) Load(ctx context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg := r.config()
	list := cfg.GetModelConfigList()
	if !slices.ContainsFunc(list.GetConfig(), func(m *config.ModelConfig) bool { return m.GetName() == name }) {
		m := r.unloaded[name]
		if m == nil {
			return status.Errorf(codes.NotFound, "model %s is not in the server's config: expected one of it", name)
		}
		list.Config = append(list.Config, m)
	}
	if err := r.s.Reload(ctx, cfg); err != nil {
		return err
	}
	delete(r.unloaded, name)
	h, err := r.s.models.Acquire(name, servable.Version{})
	if err != nil {
		return err
	}
	h.Release()
	return nil
}

// Unload takes a model out of the config.
func (r *repository) Unload(ctx context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg := r.config()
	list := cfg.GetModelConfigList()
	i := slices.IndexFunc(list.GetConfig(), func(m *config.ModelConfig) bool { return m.GetName() == name })
	if i < 0 {
		return status.Errorf(codes.NotFound, "model %s is not loaded", name)
	}
	gone := list.Config[i]
	list.Config = slices.Delete(list.Config, i, i+1)
	if err := r.s.Reload(ctx, cfg); err != nil {
		return err
	}
	if r.unloaded == nil {
		r.unloaded = map[string]*config.ModelConfig{}
	}
	r.unloaded[name] = gone
	return nil
}

// config returns a copy of the config in force.
func (r *repository) config() *config.ModelServerConfig {
	cfg := proto.CloneOf(r.s.models.Config())
	if cfg.GetModelConfigList() == nil {
		cfg = ModelDirs(nil)
	}
	return cfg
}
