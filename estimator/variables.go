package estimator

import (
	"context"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/training/update"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// ErrNoCheckpoint is returned if a trained model is needed and model_dir has none.
var ErrNoCheckpoint = errors.New("could not find trained model")

// MismatchError reports that a checkpoint belongs to another model.
type MismatchError struct {
	Prefix   string
	Problems []string // one per variable
	// The features that the checkpoint was trained on, and those of the input, if they differ.
	Trained, Given string
}

// Error lists the first problems.
func (e *MismatchError) Error() string {
	if e.Trained != e.Given {
		return fmt.Sprintf("checkpoint %s was trained on other features: expected %s, got %s: use data of the same columns and shapes, or another model_dir",
			e.Prefix, e.Trained, e.Given)
	}
	shown := e.Problems
	more := ""
	if len(shown) > 3 {
		more = fmt.Sprintf("; and %d more", len(shown)-3)
		shown = shown[:3]
	}
	return fmt.Sprintf("checkpoint %s is of another model: %s%s: use the model_dir of this model, or an empty one",
		e.Prefix, strings.Join(shown, "; "), more)
}

// initialize puts the initial values of the program's variables: the model's variables,
// the optimizer's slots when training, and the global step.
func (s *session) initialize(put func(name string, t graph.Type, value distribute.Fill) error) error {
	if err := s.checkMemory(); err != nil {
		return err
	}
	return s.declare(put)
}

// declare puts the initial values without checking this machine's memory.
func (s *session) declare(put func(name string, t graph.Type, value distribute.Fill) error) error {
	for _, v := range s.program.variables {
		t := graph.TypeOf(v.DType, v.Shape...)
		if err := put(v.Name, t, distribute.Initial(v.Name, v.Init, s.est.seed, t)); err != nil {
			return err
		}
	}
	if s.program.mode == models.Train {
		for _, slot := range update.Slots(s.program.spec.TrainOp) {
			if err := put(slot.Name, slot.Type, distribute.Initial(slot.Seeded(), slot.Init, s.est.seed, slot.Type)); err != nil {
				return err
			}
		}
	}
	return put(distribute.GlobalStep, graph.Type{DType: tensor.Int64}, distribute.Whole(tensor.Scalar(int64(0))))
}

// checkMemory refuses a model that does not fit in this machine's memory: the Go runtime would end the process.
func (s *session) checkMemory() error {
	total, ok := hostmemory.Total()
	if !ok || s.strategy.Replicas().Sharded {
		return nil
	}
	types := map[string]graph.Type{}
	for _, v := range s.program.variables {
		types[v.Name] = graph.TypeOf(v.DType, v.Shape...)
	}
	if s.program.mode == models.Train {
		for _, slot := range update.Slots(s.program.spec.TrainOp) {
			types[slot.Name] = slot.Type
		}
	}
	need, largest, most := 0.0, "", 0.0 // floating point does not overflow
	for name, t := range types {
		n := float64(t.DType.Size())
		for _, d := range t.Shape.Dims {
			n *= float64(d.At(0))
		}
		need += n
		if n > most || n == most && name < largest {
			largest, most = name, n
		}
	}
	if need <= float64(total) {
		return nil
	}
	return fmt.Errorf("variables and optimizer slots need %.1f GiB, the machine has %.1f GiB: make the model smaller; the largest is %s of shape %v",
		need/(1<<30), float64(total)/(1<<30), largest, types[largest].Shape)
}

// restore sets all variables from a checkpoint, which must stay open until the strategy
// is synchronized. If a variable is missing there, or has another type or shape, nothing
// is set and the error is a *MismatchError.
func (s *session) restore(r *checkpoint.Reader) error {
	var problems []string
	var err error
	switch {
	case s.program.mode == models.Train:
		problems, err = saved.Restore(r, s.strategy, s.program.spec.TrainOp)
	case s.est.trainedWeights:
		problems, err = saved.Restore(r, s.strategy)
	default:
		problems, err = saved.RestoreAverages(r, s.strategy)
	}
	if len(problems) > 0 {
		return &MismatchError{Prefix: r.Prefix(), Problems: problems}
	}
	return err
}

// globalStep reads the global step variable.
func (s *session) globalStep() (int64, error) {
	t, err := s.strategy.Variables().Get(distribute.GlobalStep)
	if err != nil {
		return 0, err
	}
	return tensor.Values[int64](t)[0], nil
}

// LatestCheckpoint returns the prefix of the newest checkpoint in model_dir, "" for
// none.
func (e *Estimator) LatestCheckpoint() (string, error) {
	prefix, err := checkpoint.LatestPrefix(e.modelDir)
	if errors.Is(err, checkpoint.ErrNone) {
		return "", nil
	}
	return prefix, err
}

// VariableNames returns the names of all variables in the newest checkpoint, sorted.
func (e *Estimator) VariableNames() ([]string, error) {
	r, err := e.openLatest()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return slices.DeleteFunc(r.Names(), isPrivate), nil
}

// VariableValue returns the value of a variable in the newest checkpoint.
func (e *Estimator) VariableValue(name string) (*tensor.Tensor, error) {
	r, err := e.openLatest()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, ok := r.Lookup(name); !ok {
		return nil, fmt.Errorf("checkpoint %s has no variable %q: VariableNames lists them", r.Prefix(), name)
	}
	return r.Tensor(name)
}

func (e *Estimator) openLatest() (*checkpoint.Reader, error) {
	r, err := checkpoint.OpenLatest(context.Background(), e.modelDir)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, fmt.Errorf("%w in model_dir: %s", ErrNoCheckpoint, e.modelDir)
	}
	return r, err
}

func isPrivate(name string) bool { return strings.HasPrefix(name, saved.PrivatePrefix) }
