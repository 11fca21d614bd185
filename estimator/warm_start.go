package estimator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/models"
)

// WarmStart takes the initial values of variables from another model's
// checkpoint. It applies only while model_dir has no checkpoint.
type WarmStart struct {
	// From is a checkpoint prefix, a folder (its newest checkpoint), or a SavedModel folder.
	From string
	// Vars is a regular expression that must match the beginning of the names of
	// the trainable variables, frozen ones included, to take; empty: all of them.
	Vars string
	// Previous maps names of variables here to their names in the checkpoint.
	Previous map[string]string
	// Vocabularies describe variables, by their names here, whose vocabulary differs
	// from the checkpoint's.
	Vocabularies map[string]VocabInfo
}

// WithWarmStart sets where initial values come from.
func WithWarmStart(w WarmStart) Option {
	return func(e *Estimator) error {
		if w.From == "" {
			return errors.New("warm start: expected a checkpoint or folder to start from")
		}
		if _, err := regexp.Compile(w.Vars); err != nil {
			return fmt.Errorf("warm start: vars: %w", err)
		}
		for name, v := range w.Vocabularies {
			if err := v.check(); err != nil {
				return fmt.Errorf("warm start: vocabulary of %s: %w", name, err)
			}
		}
		e.warm = &w
		return nil
	}
}

// open opens the checkpoint that From names.
func (w *WarmStart) open() (*checkpoint.Reader, error) {
	info, err := os.Stat(w.From)
	if err != nil || !info.IsDir() {
		return checkpoint.Open(w.From)
	}
	saved := filepath.Join(w.From, "variables", "variables")
	if _, err := os.Stat(saved + ".index"); err == nil {
		return checkpoint.Open(saved)
	}
	return checkpoint.OpenLatest(context.Background(), w.From)
}

// warmStart overwrites initial values with the values in the warm-start checkpoint.
func (s *session) warmStart() error {
	w := s.est.warm
	r, err := w.open()
	if err != nil {
		return fmt.Errorf("warm start from %s: %w", w.From, err)
	}
	defer r.Close()
	match := regexp.MustCompile("^(?:" + w.Vars + ")")
	taken, renamed, remapped := 0, 0, 0
	for _, v := range s.program.variables {
		if !v.Trainable && !v.Frozen || !match.MatchString(v.Name) {
			continue
		}
		if err := s.warmStartVariable(r, v); err != nil {
			return fmt.Errorf("warm start from %s: %w", w.From, err)
		}
		taken++
		if _, ok := w.Previous[v.Name]; ok {
			renamed++
		}
		if _, ok := w.Vocabularies[v.Name]; ok {
			remapped++
		}
	}
	if taken == 0 {
		return fmt.Errorf("warm start from %s: no trainable variable matches %q", w.From, w.Vars)
	}
	if renamed < len(w.Previous) {
		return fmt.Errorf("warm start from %s: %d of the %d variables named in Previous are not among those to take: expected names of trainable variables that match %q",
			w.From, len(w.Previous)-renamed, len(w.Previous), w.Vars)
	}
	if remapped < len(w.Vocabularies) {
		return fmt.Errorf("warm start from %s: %d of the %d variables named in Vocabularies are not among those to take: expected names of trainable variables that match %q",
			w.From, len(w.Vocabularies)-remapped, len(w.Vocabularies), w.Vars)
	}
	s.est.log.Info("warm-started", "from", r.Prefix(), "variables", taken)
	return nil
}

func (s *session) warmStartVariable(r *checkpoint.Reader, v *models.Variable) error {
	old := v.Name
	if p, ok := s.est.warm.Previous[v.Name]; ok {
		old = p
	}
	if _, ok := r.Lookup(old); !ok {
		return fmt.Errorf("no variable %s: name it in Previous, or leave %s out of Vars", old, v.Name)
	}
	if info, ok := s.est.warm.Vocabularies[v.Name]; ok {
		t, err := info.remap(r, old, v, models.Key(s.est.seed, v.Name))
		if err != nil {
			return err
		}
		return s.strategy.Variables().Set(v.Name, distribute.Whole(t))
	}
	t, err := r.Tensor(old)
	if err != nil {
		return err
	}
	if !slices.Equal(t.Shape, v.Shape) || t.DType != v.DType {
		return fmt.Errorf("variable %s: expected %v%v, got %v%v", v.Name, v.DType, v.Shape, t.DType, t.Shape)
	}
	return s.strategy.Variables().Set(v.Name, distribute.Whole(t))
}
