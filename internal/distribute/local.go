package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// local is default and one_device: variables and updates on one device of this process.
type local struct {
	config Config
	dev    device.Device
	vars   *engine.Variables
}

// newOneDevice returns default or one_device.
func newOneDevice(c Config) (Strategy, error) {
	dev, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", cmp.Or(c.Name, "default"), err)
	}
	return newLocal(c, dev)
}

// newLocal returns a strategy on dev, which the strategy closes.
func newLocal(c Config, dev device.Device) (Strategy, error) {
	vars, err := engine.NewVariables(dev)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &local{config: c, dev: dev, vars: vars}, nil
}

var _ Strategy = (*local)(nil)

// Name is "default", "one_device", or the name of a strategy that has a single replica.
func (l *local) Name() string { return cmp.Or(l.config.Name, "default") }

// Replicas returns one replica.
func (l *local) Replicas() Replicas { return Replicas{InSync: 1, Local: 1} }

// Variables returns the variables, which are on the device.
func (l *local) Variables() Variables { return deviceVariables{l.vars} }

// Snapshot copies the variables.
func (l *local) Snapshot(context.Context) (*Snapshot, error) {
	return deviceVariables{l.vars}.snapshot()
}

// Close frees the variables, and closes the device, which others may still use.
func (l *local) Close() error { return errors.Join(l.vars.Close(), l.dev.Close()) }

// Train appends the optimizer to the program's graph, so that a step is one program run.
func (l *local) Train(p TrainProgram) (Stepper, error) {
	if p.Train.Step != nil {
		return (&replicated{config: l.config, replicas: 1, copies: []*engine.Variables{l.vars}, devices: []device.Device{l.dev}, compute: []device.Device{l.dev}, peers: alone{}}).Train(p)
	}
	applied, err := p.Emit()
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", l.Name(), err)
	}
	fetches := append(p.Fetches[:len(p.Fetches):len(p.Fetches)], p.GlobalStep)
	s := &localStepper{rate: -1, step: len(p.Fetches)}
	if applied.LearningRate.Valid() {
		s.rate = len(fetches)
		fetches = append(fetches, applied.LearningRate)
	}
	return l.compile(s, p.Program, engine.Spec{Feeds: p.Feeds, Fetches: fetches, Targets: applied.Targets})
}

// Infer compiles the program as it is.
func (l *local) Infer(p Program) (Stepper, error) {
	return l.compile(&localStepper{rate: -1, step: -1}, p, engine.Spec{Feeds: p.Feeds, Fetches: p.Fetches})
}

func (l *local) compile(s *localStepper, p Program, spec engine.Spec) (Stepper, error) {
	opts := l.config.options()
	opts.Profile = p.Profile
	var err error
	s.program, err = engine.Compile(p.Graph, spec, l.dev, l.vars, opts)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", l.Name(), err)
	}
	s.dev = l.dev
	if accelerates(l.dev) {
		return &aheadStep{localStepper: s, ahead: aheadQueue{program: s.program}, alone: !opts.CheckNumerics && !opts.Profile}, nil
	}
	return s, nil
}

// localStepper runs one engine program.
type localStepper struct {
	program *engine.Program
	dev     device.Device
	rate    int // index of the learning rate among the fetches, -1 for none
	step    int // index of the global step before the update
}

// Step runs the program on one batch.
func (s *localStepper) Step(ctx context.Context, in Step) (Outcome, error) {
	if len(in.Batches) != 1 {
		return Outcome{}, fmt.Errorf("step: expected one batch, got %d", len(in.Batches))
	}
	b := in.Batches[0]
	if err := s.program.Run(ctx, b.Rows, b.Feeds); err != nil || s.step < 0 {
		return Outcome{}, err
	}
	return s.outcome(in), nil
}

// outcome returns the outcome of a training step whose fetches were read.
func (s *localStepper) outcome(in Step) Outcome {
	return Outcome{GlobalStep: tensor.Values[int64](s.program.Value(s.step))[0] + 1, Applied: true, Stop: in.Stop}
}

// Placement returns where the program runs.
func (s *localStepper) Placement() Placement { return placementOf(s.program, s.dev) }

// Value returns fetch i of the last step.
func (s *localStepper) Value(i int) *tensor.Tensor { return s.program.Value(i) }

// LearningRate returns the rate that the last step applied.
func (s *localStepper) LearningRate() float64 {
	if s.rate < 0 {
		return 0
	}
	return s.program.Value(s.rate).Float(0)
}

// Profile returns the time of each node over all steps.
func (s *localStepper) Profile() []NodeTime { return s.program.Profile() }

// Close frees the program's memory.
func (s *localStepper) Close() error { return s.program.Close() }
