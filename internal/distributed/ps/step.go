package ps

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// StepRule is a step function for parameter servers: it must be registered
// under that name in their binary, too.
type StepRule struct {
	Function string
	Config   []byte `json:",omitempty"`
}

// assignStep marks the variables of a TrainOp's step function.
func (p *Plan) assignStep(t *optimizers.TrainOp) error {
	if t == nil || t.Step == nil {
		return nil
	}
	at := map[string]int{}
	for i, v := range p.Variables {
		at[v.Name] = i
	}
	for _, v := range t.Step.Variables {
		i, ok := at[v.Name]
		if !ok {
			return fmt.Errorf("the variable %s of step function %q is not among the variables", v.Name, t.Step.Function)
		}
		p.Variables[i].Step, p.Variables[i].Parts = true, 1
	}
	return nil
}

// stepUnits are the variables of a step function, all on server 0, which runs
// it: they change together.
type stepUnits struct {
	run   *optimizers.StepRun
	units map[string]*unit

	mu      sync.RWMutex // held for writing while the units change
	tensors map[string]*tensor.Tensor
	values  *optimizers.StepValues
	loaded  bool // the tensors hold the units' values
}

func newStepUnits(p *Plan, units map[int]*unit) (*stepUnits, error) {
	f := &stepUnits{units: map[string]*unit{}, tensors: map[string]*tensor.Tensor{}}
	var err error
	if f.run, err = optimizers.NewStepRun(p.Rules.Step.Function, p.Rules.Step.Config); err != nil {
		return nil, err
	}
	for _, u := range units {
		if u.v.Step {
			f.units[u.v.Name] = u
			f.tensors[u.v.Name] = tensor.New(u.v.DType, u.shape...)
		}
	}
	f.values = optimizers.NewStepValues(f.tensors)
	return f, nil
}

// errFunction is the cause of a failure that recurs, even in a new session.
var errFunction = errors.New("a step function failed")

// apply uses a tally, unless it is stale.
func (f *stepUnits) apply(t *optimizers.Tally) (stale bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.loaded {
		for name, u := range f.units {
			if err := u.vars.ReadAt(name, f.tensors[name].Bytes, 0); err != nil {
				return false, err
			}
		}
	}
	f.loaded = false
	fits, err := f.run.Fits(f.values, t)
	if err == nil && fits {
		err = f.run.Apply(f.values, t)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errFunction, err)
	}
	if fits {
		for _, name := range f.values.Changed() {
			if err := f.units[name].assign(f.tensors[name].Bytes); err != nil {
				return false, err
			}
		}
	}
	f.loaded = true
	return !fits, nil
}

// applyTallies uses the sums over those ranks, in their order; mu is held.
func (r *rounds) applyTallies(ranks []int64) error {
	if r.s.function == nil {
		return nil
	}
	var total optimizers.Tally
	for i, k := range ranks {
		t := r.got[int(k)].tally
		if i == 0 {
			total.Set(t)
			continue
		}
		if err := total.Add(t); err != nil {
			return fmt.Errorf("%w: rank %d: %w", errFunction, k, err)
		}
	}
	stale, err := r.s.function.apply(&total)
	if err == nil && stale {
		err = fmt.Errorf("%w: sums of step %d have the stamp %d, which the variables do not have any more", errFunction, r.step, total.Stamp)
	}
	return err
}

// failure is the status of a failed session. A new session helps, except after
// a step function, which would fail again.
func failure(err error) error {
	if errors.Is(err, errFunction) {
		return status.Error(codes.Internal, err.Error())
	}
	return status.Error(codes.Aborted, err.Error())
}

// heldImages are images of one moment, by the units' numbers.
type heldImages map[int]heldImage

type heldImage struct {
	u *unit
	m *image // nil: the caller has the version
}

// images holds the values of the wanted units of the function, so that no
// caller gets some from before a change and others from after it.
func (f *stepUnits) images(want []have) (heldImages, error) {
	if f == nil {
		return nil, nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	versions := map[int]uint64{}
	for _, w := range want {
		versions[w.unit] = w.version
	}
	held := heldImages{}
	for _, u := range f.units {
		version, ok := versions[u.number]
		if !ok {
			continue
		}
		m, err := u.image(version)
		if err != nil {
			held.free()
			return nil, status.Error(codes.Internal, err.Error())
		}
		held[u.number] = heldImage{u, m}
	}
	return held, nil
}

// remove returns an image and removes it, or returns false if there is none for that unit.
func (h heldImages) remove(number int) (heldImage, bool) {
	m, ok := h[number]
	delete(h, number)
	return m, ok
}

// free releases the remaining images.
func (h heldImages) free() {
	for _, x := range h {
		if x.m != nil {
			x.u.release(x.m)
		}
	}
}
