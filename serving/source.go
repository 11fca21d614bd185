package serving

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/manager"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/protobuf/proto"
)

// Models says which models are served, by one of Config, File and Root.
type Models struct {
	Config *config.ModelServerConfig
	File   string // a ModelServerConfig in text form
	Root   string // every folder in it with versions is a model
	// Poll is the time between two looks at File or Root; 0: one look only.
	Poll time.Duration
}

// ModelDirs returns a Config that serves the newest version of each model. bases has the models' base paths by name; relative
// paths begin at the working directory.
func ModelDirs(bases map[string]string) *config.ModelServerConfig {
	whole := map[string]string{}
	for name, base := range bases {
		if abs, err := filepath.Abs(base); err == nil && base != "" && !strings.Contains(base, "://") {
			base = abs
		}
		whole[name] = base
	}
	return manager.Single(whole)
}

func (m Models) validate() error {
	n := 0
	for _, set := range []bool{m.Config != nil, m.File != "", m.Root != ""} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("models: expected exactly one of a config, a config file and a root folder")
	}
	return nil
}

// read returns the current config; before is the last one, nil if there is none.
func (m Models) read(before *config.ModelServerConfig) (*config.ModelServerConfig, error) {
	switch {
	case m.File != "":
		text, err := atomicfile.ReadSmall(m.File)
		if err != nil {
			return nil, fmt.Errorf("model config file: %w", err)
		}
		cfg, err := manager.ParseConfig(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.File, err)
		}
		return cfg, nil
	case m.Root != "":
		return manager.Discover(m.Root, before)
	}
	return m.Config, nil
}

// reloadLimit bounds a reload in the background.
const reloadLimit = 10 * time.Minute

// follow reloads the config when its source changes, until ctx ends. Changes through the
// API stay in effect until then.
func (s *Server) follow(ctx context.Context, last *config.ModelServerConfig) {
	if s.o.Models.Config != nil || s.o.Models.Poll <= 0 {
		return
	}
	tick := time.NewTicker(s.o.Models.Poll)
	defer tick.Stop()
	logged, seen := "", last
	var unlabelled *config.ModelServerConfig // in force without its labels and traffic rules; nil: none
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		next, err := s.o.Models.read(last)
		if err == nil && next.GetConfig() == nil {
			err = fmt.Errorf("%s: no model_config_list: the models stay as they are", s.o.Models.File)
		}
		same := proto.Equal(next, seen) // unchanged since the last poll: no write is in progress
		seen = next
		switch {
		case err != nil || !same:
		case !proto.Equal(next, last):
			taken, late, failed := s.reloadChanged(ctx, next)
			if err = failed; taken {
				last, unlabelled = next, late
			} // otherwise it was refused, perhaps since a bucket could not be read: the next poll tries again
		case unlabelled != nil && s.models.Config() != unlabelled: // a call has replaced it
			unlabelled = nil
		case unlabelled != nil:
			if err = s.models.Label(unlabelled); err == nil {
				unlabelled = nil
				s.o.Log.Info("labels and traffic are set")
			}
		}
		if err == nil {
			logged = ""
		} else if err.Error() != logged && ctx.Err() == nil {
			logged = err.Error()
			s.o.Log.Error("reloading models", "error", statustext.Convert(err).Message())
		}
	}
}

// reloadChanged reloads the next config, and reports whether it is taken. If it is in force without its labels and traffic rules, they are
// to be set once its versions are available: unlabelled is then the config, else nil.
func (s *Server) reloadChanged(ctx context.Context, next *config.ModelServerConfig) (taken bool, unlabelled *config.ModelServerConfig, err error) {
	within, stop := context.WithTimeout(ctx, reloadLimit)
	defer stop()
	err = s.reload(within, next, func() { taken = true })
	switch {
	case err == nil:
		s.o.Log.Info("models reloaded", "models", len(s.models.Models()))
	case taken && within.Err() == nil: // otherwise the manager sets them
		unlabelled = s.models.Config()
	}
	return taken, unlabelled, err
}
