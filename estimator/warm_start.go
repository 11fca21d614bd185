package estimator

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/weights"
	"github.com/goestimator/goestimator/tensor"
)

// WarmStart takes the initial values of variables from another model's checkpoint, or
// from a file of weights that another program saved. It applies only while model_dir
// has no checkpoint.
type WarmStart struct {
	// From is what [weights.Open] opens: a checkpoint prefix, a file of weights, or a folder
	// with checkpoints (the newest is taken), with a SavedModel or with safetensors.
	From string
	// Vars is a regular expression that must match the beginning of the names of the variables
	// to set; empty: all of them. From a TensorFlow checkpoint without Map only trainable
	// variables are set, frozen ones included, as in tf.estimator; else all variables of the
	// model, including the moving averages of batch normalization.
	Vars string
	// Previous maps names of variables here to their names in the file.
	Previous map[string]string
	// Map has rules for variables that are not in Previous; the first that matches applies.
	// A variable without a rule has the same name in the file.
	Map []weights.Rule
	// Partial lets variables without a weight in the file keep their initial values; the log lists
	// them. Without Partial they are an error.
	Partial bool
	// Vocabularies describes variables, by their names here, whose vocabulary differs from the
	// checkpoint's.
	Vocabularies map[string]VocabInfo
}

// WithWarmStart sets where initial values come from if model_dir has no checkpoint.
func WithWarmStart(w WarmStart) Option {
	return func(e *Estimator) error {
		if w.From == "" {
			return errors.New("warm start: expected a checkpoint, file or folder to start from")
		}
		if _, err := regexp.Compile(w.Vars); err != nil {
			return fmt.Errorf("warm start: vars: %w", err)
		}
		if _, err := weights.NewMapping(w.Map); err != nil {
			return fmt.Errorf("warm start: map: %w", err)
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

// warmStart overwrites initial values with the values of the warm start.
func (s *session) warmStart() error {
	w := s.est.warm
	if err := w.into(s); err != nil {
		return fmt.Errorf("warm start from %s: %w", w.From, err)
	}
	return nil
}

// warming is a warm start in progress.
type warming struct {
	*WarmStart
	session *session
	file    *weights.File
	mapping *weights.Mapping
	all     bool            // also variables that are not trainable
	used    map[string]bool // tensors of the file
	rules   map[int]bool    // rules that matched a variable, by index

	taken, renamed, remapped int
	kept                     []string           // variables that rules skip
	missing                  []*models.Variable // variables without a weight in the file
}

func (w *WarmStart) into(s *session) error {
	file, err := weights.Open(w.From)
	if err != nil {
		return err
	}
	defer file.Close()
	mapping, err := weights.NewMapping(w.Map)
	if err != nil {
		return err
	}
	run := &warming{WarmStart: w, session: s, file: file, mapping: mapping, used: map[string]bool{}, rules: map[int]bool{}}
	run.all = len(w.Map) > 0 || !file.TensorFlow()
	match := regexp.MustCompile("^(?:" + w.Vars + ")")
	var plan []*models.Variable
	for _, v := range s.program.variables {
		if (run.all || v.Trainable || v.Frozen) && match.MatchString(v.Name) && run.finds(v) {
			plan = append(plan, v)
		}
	}
	if err := run.check(); err != nil {
		return err
	}
	for _, v := range plan {
		if err := run.take(v); err != nil {
			return err
		}
	}
	run.report()
	return nil
}

// source returns where the initial value of a variable comes from.
func (r *warming) source(v *models.Variable) weights.Source {
	if old, ok := r.Previous[v.Name]; ok {
		return weights.Source{Name: old, Rule: -1}
	}
	return r.mapping.Source(v.Name)
}

// finds reports whether a variable is to be set and has a weight in the file, and counts it.
func (r *warming) finds(v *models.Variable) bool {
	src := r.source(v)
	if src.Rule >= 0 {
		r.rules[src.Rule] = true
	}
	if src.Skip {
		r.kept = append(r.kept, v.Name)
		return false
	}
	if _, ok := r.Previous[v.Name]; ok {
		r.renamed++
	}
	if _, ok := r.Vocabularies[v.Name]; ok {
		r.remapped++
	}
	if _, ok := r.file.Lookup(src.Name); !ok {
		r.missing = append(r.missing, v)
		return false
	}
	r.used[src.Name] = true
	r.taken++
	return true
}

// check reports settings that do not fit the model or the file, before anything is read.
func (r *warming) check() error {
	if len(r.missing) > 0 && !r.Partial {
		return r.unmatched()
	}
	if r.taken == 0 {
		if !r.all {
			return fmt.Errorf("no trainable variable matches %q", r.Vars)
		}
		return fmt.Errorf("no variable to take matches %q, or all are skipped", r.Vars)
	}
	const names = "%d of the %d variables named in %s are not among those to take: expected names of variables that match %q"
	if r.renamed < len(r.Previous) {
		return fmt.Errorf(names, len(r.Previous)-r.renamed, len(r.Previous), "Previous", r.Vars)
	}
	if r.remapped < len(r.Vocabularies) {
		return fmt.Errorf(names, len(r.Vocabularies)-r.remapped, len(r.Vocabularies), "Vocabularies", r.Vars)
	}
	for i, rule := range r.Map {
		if !r.rules[i] {
			return fmt.Errorf("map[%d]: no variable has a name that is %s as a whole and matches no rule before it: `goestimator inspect model` lists them", i, rule.Name)
		}
	}
	return nil
}

// take gives a variable its value.
func (r *warming) take(v *models.Variable) error {
	src := r.source(v)
	var t *tensor.Tensor
	var err error
	if info, ok := r.Vocabularies[v.Name]; ok {
		t, err = info.remap(r.file, src.Name, v, models.Key(r.session.est.seed, v.Name))
	} else {
		t, err = r.file.Value(src, weights.Target{Name: v.Name, DType: v.DType, Shape: v.Shape})
	}
	if err != nil {
		return err
	}
	return variableSetter{r.session}.Set(v.Name, t)
}

// report logs what was taken, and what was not.
func (r *warming) report() {
	log := r.session.est.log
	log.Info("warm-started", "from", r.file.Path(), "format", r.file.Format(), "variables", r.taken)
	if len(r.kept) > 0 {
		log.Info("left at their initial values by rules", "variables", clipped(r.kept))
	}
	if len(r.missing) > 0 {
		log.Warn("left at their initial values: they found no weight", "variables", clipped(namesOf(r.missing)))
	}
	if left := r.unused(); len(left) > 0 && !r.file.TensorFlow() {
		names := make([]string, len(left))
		for i, info := range left {
			names[i] = info.Name
		}
		log.Info("tensors that no variable took", "tensors", clipped(names))
	}
}

// unused returns the tensors of the file that no variable takes, without an Estimator's notes.
func (r *warming) unused() []weights.Info {
	return slices.DeleteFunc(r.file.List(), func(i weights.Info) bool {
		return r.used[i.Name] || r.file.TensorFlow() && strings.HasPrefix(i.Name, "goestimator/")
	})
}

func namesOf(list []*models.Variable) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.Name
	}
	return names
}

// clipped shortens a list for a message.
func clipped(list []string) []string {
	const most = 20
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
