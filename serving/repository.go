package serving

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// repository loads and unloads single models of the config. It implements openinference.Repository.
type repository struct {
	s        *Server
	mu       sync.Mutex
	unloaded map[string]*config.ModelConfig // by name; changed only while the config is edited, which is exclusive
}

// Load restores a model that was unloaded. For a model in the config it looks for versions, including ones that failed before.
func (r *repository) Load(ctx context.Context, name string) error {
	err := r.s.edit(ctx, name, func(cfg *config.ModelServerConfig) (*config.ModelServerConfig, error) {
		cfg, at := find(cfg, name)
		if at >= 0 {
			return cfg, nil
		}
		r.mu.Lock()
		m := r.unloaded[name]
		r.mu.Unlock()
		if m == nil {
			return nil, status.Errorf(codes.NotFound, "model %s is not in the server's config: expected one of it", name)
		}
		list := cfg.GetModelConfigList()
		list.Config = append(list.Config, m)
		return cfg, nil
	}, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.unloaded, name)
	})
	if err != nil {
		return err
	}
	h, err := r.s.models.Acquire(name, servable.Version{})
	if err != nil {
		return err
	}
	h.Release()
	return nil
}

// Unload removes a model from the config.
func (r *repository) Unload(ctx context.Context, name string) error {
	var unloaded *config.ModelConfig
	return r.s.edit(ctx, "", func(cfg *config.ModelServerConfig) (*config.ModelServerConfig, error) {
		cfg, at := find(cfg, name)
		if at < 0 {
			return nil, status.Errorf(codes.NotFound, "model %s is not loaded", name)
		}
		list := cfg.GetModelConfigList()
		unloaded = list.Config[at]
		list.Config = slices.Delete(list.Config, at, at+1)
		return cfg, nil
	}, func() { // even if other models make the edit fail, since it takes effect nevertheless
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.unloaded == nil {
			r.unloaded = map[string]*config.ModelConfig{}
		}
		r.unloaded[name] = unloaded
	})
}

// forget drops the unloaded models when a new config takes the place of the one that named them.
func (r *repository) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.unloaded)
}

// Unloaded returns the names of the models that Load puts back, sorted.
func (r *repository) Unloaded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.unloaded))
}

// find returns the index of a model in a config, -1 if it is not there. A config without a list of models gets one.
func find(cfg *config.ModelServerConfig, name string) (*config.ModelServerConfig, int) {
	if cfg.GetModelConfigList() == nil {
		cfg = ModelDirs(nil)
	}
	return cfg, slices.IndexFunc(cfg.GetModelConfigList().GetConfig(), func(m *config.ModelConfig) bool { return m.GetName() == name })
}
