package saved

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/training/update"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// Restore sets all variables of a strategy from a checkpoint, which must stay open until
// the strategy is synchronized. If a variable is missing there, or has another type or
// shape, nothing is set and the problems are returned, one for each variable. The train
// ops that made the variables know the other names that a checkpoint may have for some.
func Restore(r *checkpoint.Reader, s distribute.Strategy, ops ...*optimizers.TrainOp) (problems []string, err error) {
	averaged := map[string]string{} // variable of each average
	for _, op := range ops {
		for v, average := range update.Averages(op) {
			averaged[average] = v
		}
	}
	return restore(r, s, s.Variables().Names(), func(name string) string {
		_, there := r.Lookup(name)
		if v := averaged[name]; v != "" && !there {
			return v // averaging starts with this training
		}
		return storedName(r, name, ops)
	})
}

// RestoreAverages is Restore for evaluation, prediction or export: a variable takes its
// average if the checkpoint has one.
func RestoreAverages(r *checkpoint.Reader, s distribute.Strategy) (problems []string, err error) {
	a, err := OpenAverages(r)
	if err != nil {
		return nil, err
	}
	return restore(r, s, s.Variables().Names(), a.Name)
}

// RestoreThese is Restore for only these variables, from a checkpoint of the same training.
func RestoreThese(r *checkpoint.Reader, s distribute.Strategy, names []string) (problems []string, err error) {
	return restore(r, s, names, func(name string) string { return name })
}

// LeftOut returns the weights of a checkpoint that no variable of the strategy takes, sorted: weights of parts that the model does not
// have. They do not include slots of other variables and counters.
func LeftOut(r *checkpoint.Reader, s distribute.Strategy) []string {
	return leftOut(r, func(name string) bool { _, taken := s.Variables().Type(name); return taken })
}

func leftOut(r *checkpoint.Reader, taken func(name string) bool) []string {
	return slices.DeleteFunc(r.Names(), func(name string) bool {
		info, _ := r.Lookup(name)
		return taken(name) || len(info.Shape) == 0 || strings.HasPrefix(name, PrivatePrefix) || ownerOf(r, name) != ""
	})
}

// Unused is LeftOut for a model that does not train and has the given variables. It has only weights with slots of an optimizer,
// which were certainly trained: a model may have other variables in training alone.
func Unused(r *checkpoint.Reader, taken func(name string) bool) []string {
	trained := map[string]bool{}
	for _, name := range r.Names() {
		trained[ownerOf(r, name)] = true
	}
	return slices.DeleteFunc(leftOut(r, taken), func(name string) bool { return !trained[name] })
}

// ownerOf returns the variable of a slot, "" for other names. The name of a slot is the variable's with a suffix, or in Keras
// training/<optimizer>/<variable>/<slot>.
func ownerOf(r *checkpoint.Reader, name string) string {
	if v := prefixOf(r, name); v != "" {
		return v
	}
	rest, _ := strings.CutPrefix(name, "training/")
	if _, v, ok := strings.Cut(rest, "/"); ok && rest != name {
		return prefixOf(r, v)
	}
	return ""
}

// prefixOf returns the variable whose name, with a suffix, is this one; "" if there is none.
func prefixOf(r *checkpoint.Reader, name string) string {
	for i := range name {
		if name[i] != '/' {
			continue
		}
		if _, there := r.Lookup(name[:i]); there {
			return name[:i]
		}
	}
	return ""
}

// Averages are the averages of weights in a checkpoint.
type Averages struct {
	of    *checkpoint.Reader
	slots []string
}

// OpenAverages looks for the averages of a checkpoint that this package wrote.
func OpenAverages(r *checkpoint.Reader) (Averages, error) {
	text, ok, err := String(r, AveragesKey)
	if err != nil || !ok {
		return Averages{}, err
	}
	return Averages{r, strings.Split(string(text), ",")}, nil
}

// None reports whether the checkpoint has no averages.
func (a Averages) None() bool { return len(a.slots) == 0 }

// Name returns the name of the variable's average, or the variable's own without one.
func (a Averages) Name(variable string) string {
	for _, slot := range a.slots {
		if _, ok := a.of.Lookup(variable + "/" + slot); ok {
			return variable + "/" + slot
		}
	}
	return variable
}

// restore sets variables to the values under their stored names in the checkpoint.
func restore(r *checkpoint.Reader, s distribute.Strategy, names []string, stored func(name string) string) (problems []string, err error) {
	vars := s.Variables()
	values := map[string]distribute.Fill{}
	_, shared := s.(distribute.Shared)
	for _, name := range names {
		want, _ := vars.Type(name)
		from := stored(name)
		if _, there := r.Lookup(from); !there && strings.HasPrefix(name, PrivatePrefix) {
			continue // belongs to the owner, who may have it in another form
		}
		if problem := Problem(r, name, from, want); problem != "" {
			problems = append(problems, problem)
			continue
		}
		if shared {
			values[name] = func(dst *tensor.Tensor, first int) error { return readRows(r, from, dst, first) }
			continue
		}
		// Read before any variable is set, so that damage changes none.
		t, err := r.Tensor(from)
		if err != nil {
			return nil, err
		}
		values[name] = distribute.Whole(t)
	}
	if len(problems) > 0 {
		return problems, nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := vars.Set(name, values[name]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Problem says why a checkpoint has no variable of that type under the stored name; "" if it has.
func Problem(r *checkpoint.Reader, name, stored string, want graph.Type) string {
	have, ok := r.Lookup(stored)
	switch shape := want.Shape.At(0); {
	case !ok:
		return fmt.Sprintf("no variable %s", name)
	case have.DType != want.DType || !slices.Equal(have.Shape, shape):
		return fmt.Sprintf("variable %s: expected %v%v, got %v%v", name, want.DType, shape, have.DType, have.Shape)
	}
	return ""
}

// storedName returns the name of a variable's value in a checkpoint: its own, except for a
// counter of updates for which tf.estimator uses the global step.
func storedName(r *checkpoint.Reader, name string, ops []*optimizers.TrainOp) string {
	if _, ok := r.Lookup(name); ok || !slices.ContainsFunc(ops, func(op *optimizers.TrainOp) bool { return update.Iterations(op, name) }) {
		return name
	}
	return distribute.GlobalStep
}

// readRows reads rows of a variable from a checkpoint.
func readRows(r *checkpoint.Reader, name string, dst *tensor.Tensor, first int) error {
	if len(dst.Shape) == 0 {
		t, err := r.Tensor(name)
		if err != nil {
			return err
		}
		return distribute.Whole(t)(dst, first)
	}
	t, err := r.Rows(name, first, first+dst.Shape[0])
	if err != nil {
		return err
	}
	return distribute.Whole(t)(dst, 0)
}
