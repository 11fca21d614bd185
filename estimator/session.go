package estimator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// session is a program with its variables on a strategy, and the loop that runs
// it. It is what hooks see: their Setup before it is compiled, their Run after.
type session struct {
	est      *Estimator
	program  *program
	schema   *inputs.Schema
	strategy distribute.Strategy
	stepper  distribute.Stepper
	hooks    []hooks.Hook

	fetches  []graph.Output
	index    map[string]int // of fetches, by the name they were asked for
	compiled int            // how many fetches the stepper knows
	profile  bool           // time the nodes
	profiled bool           // the stepper does
	terms    distribute.Terms
	feeds    []fed
	spare    spareRoom
	batches  *stager        // of the step that runs
	lender   *device.PinnedPool // of memory for batches; nil: they lie anywhere

	step   int64
	rows   int
	unread bool   // the last step has no values: nobody was to read any
	ran    bool   // a step with data was made: tensors have values
	reason string // why the loop ends; "" while it goes on
	self   loop   // the session as hooks see it: itself, or the training that embeds it
}

// loop is both sides of a loop that hooks see.
type loop interface {
	hooks.Setup
	hooks.Run
}

var _ loop = (*session)(nil)

// learningRate is the tensor name of the rate that an optimizer applies.
const learningRate = "learning_rate"

// newSession builds a mode's program for data of that schema and creates its
// variables with their initial values on a strategy of that config.
func (e *Estimator) newSession(mode models.Mode, schema *inputs.Schema, config distribute.Config) (*session, error) {
	p, err := e.startProgram(mode, schema)
	if err != nil {
		return nil, err
	}
	s := &session{est: e, program: p, schema: schema, index: map[string]int{}, spare: spareRoom{least: p.sizes}}
	s.self = s
	s.setFeeds()
	if s.strategy, err = distribute.New(config); err != nil {
		return nil, err
	}
	s.lender = newLender(s.strategy)
	s.batches = newStager(schema, s.feeds, s.strategy.Replicas().Local)
	if err := s.initialize(s.strategy.Variables().Create); err != nil {
		return nil, errors.Join(err, s.strategy.Close())
	}
	return s, nil
}

// Mode is the mode of the loop.
func (s *session) Mode() string { return string(s.program.mode) }

// IsChief reports whether this task writes checkpoints and summaries.
func (s *session) IsChief() bool { return s.est.config.IsChief() }

// Fetch asks for a tensor by name.
func (s *session) Fetch(name string) error {
	if _, ok := s.index[name]; ok || (name == learningRate && s.program.mode == models.Train) {
		return nil
	}
	o, err := s.output(name)
	if err != nil {
		return err
	}
	s.fetchOutput(name, o)
	return nil
}

func (s *session) fetchOutput(name string, o graph.Output) {
	if i, ok := s.index[name]; !ok || s.fetches[i] != o {
		s.index[name] = len(s.fetches)
		s.fetches = append(s.fetches, o)
	}
}

// output finds "loss" or an output by its TensorFlow name.
func (s *session) output(name string) (graph.Output, error) {
	if name == "loss" && s.program.loss.Valid() {
		return s.program.loss, nil
	}
	node, index := name, 0
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		n, err := strconv.Atoi(name[i+1:])
		if err != nil {
			return graph.Output{}, fmt.Errorf("tensor name %q: expected node or node:output", name)
		}
		node, index = name[:i], n
	}
	n := s.program.graph.Node(node)
	if n == nil || index < 0 || index >= len(n.Outputs) || n.Outputs[index].DType == tensor.Resource {
		return graph.Output{}, fmt.Errorf("no tensor %q in the graph of mode %s: `goestimator inspect model` lists them", name, s.program.mode)
	}
	return n.Out(index), nil
}

// GlobalStep returns the number of training steps done.
func (s *session) GlobalStep() int64 { return s.step }

// BatchSize returns the rows of the last step.
func (s *session) BatchSize() int { return s.rows }

// RequestStop ends the loop after this step.
func (s *session) RequestStop(reason string) {
	if s.reason == "" {
		s.reason = reason
	}
}

// StopRequested reports whether the loop is about to end.
func (s *session) StopRequested() bool { return s.reason != "" }

// Value returns a tensor of the last step.
func (s *session) Value(name string) (*tensor.Tensor, error) {
	if _, ok := s.index[name]; s.unread && (ok || name == learningRate) {
		return nil, fmt.Errorf("tensor %q has no value in step %d, since no hook was to read any: see hooks.Selective", name, s.step)
	}
	if i, ok := s.index[name]; ok {
		return s.stepper.Value(i), nil
	}
	if name == learningRate {
		return tensor.Scalar(s.stepper.LearningRate()), nil
	}
	return nil, fmt.Errorf("tensor %q was not asked for: call Fetch in the hook's Begin", name)
}

// Unread reports whether tensors have no values after the last step.
func (s *session) Unread() bool { return s.unread }

// ProfileNodes makes the program time its nodes.
func (s *session) ProfileNodes() { s.profile = true }

// NodeTimes returns the time of each node over all steps.
func (s *session) NodeTimes() []hooks.NodeTime {
	var out []hooks.NodeTime
	for _, n := range s.stepper.Profile() {
		out = append(out, hooks.NodeTime{Node: n.Node, Op: n.Op, Count: n.Count, Total: n.Total, Flops: n.Flops, Bytes: n.Bytes})
	}
	return out
}

// begin lets hooks ask for tensors, then compiles the program unless it is already.
func (s *session) begin(hs []hooks.Hook) error {
	s.hooks, s.reason, s.profile = hooks.Sort(hs), "", false
	for _, h := range s.hooks {
		if err := h.Begin(s.self); err != nil {
			return fmt.Errorf("hook %T: %w", h, err)
		}
	}
	if s.stepper != nil && s.compiled == len(s.fetches) && (s.profiled || !s.profile) {
		return nil
	}
	if s.stepper != nil {
		if err := s.stepper.Close(); err != nil {
			return err
		}
	}
	var err error
	s.stepper, err = s.compile()
	s.compiled, s.profiled = len(s.fetches), s.profile
	if err == nil {
		s.tellPlacement()
	}
	return err
}

func (s *session) compile() (distribute.Stepper, error) {
	p := distribute.Program{Graph: s.program.graph, Fetches: s.fetches, Profile: s.profile}
	for _, f := range s.program.feeds {
		p.Feeds = append(p.Feeds, f.output)
		if f.ragged != nil {
			p.Feeds = append(p.Feeds, f.offsets)
		}
	}
	if s.program.mode != models.Train {
		return s.strategy.Infer(p)
	}
	t := s.program.training(p)
	t.Terms = s.terms
	return s.strategy.Train(t)
}

// training adds to what is computed what an update needs.
func (p *program) training(computed distribute.Program) distribute.TrainProgram {
	t := distribute.TrainProgram{Program: computed, GlobalStep: p.step, Loss: p.loss, Train: p.spec.TrainOp, Args: p.args, Updates: p.updates}
	for _, g := range p.gradients {
		t.Gradients = append(t.Gradients, *g)
	}
	return t
}

// start tells the hooks that variables have their values.
func (s *session) start(ctx context.Context) error {
	for _, h := range s.hooks {
		if err := h.AfterCreateSession(ctx, s.self); err != nil {
			return err
		}
	}
	return nil
}

// end tells the hooks that the loop ended well.
func (s *session) end(ctx context.Context) error {
	for _, h := range s.hooks {
		if err := h.End(ctx, s.self); err != nil {
			return err
		}
	}
	return nil
}

// runStep runs one step on the staged batches, hooks included.
func (s *session) runStep(ctx context.Context, in distribute.Step) (distribute.Outcome, error) {
	for _, h := range s.hooks {
		if err := h.BeforeRun(ctx, s.self); err != nil {
			return distribute.Outcome{}, err
		}
	}
	s.rows, s.ran = 0, s.ran || len(in.Batches) > 0
	for _, b := range in.Batches {
		s.rows += b.Rows
	}
	out, err := s.stepper.Step(ctx, in)
	s.unread = in.Quiet
	if err != nil || s.program.mode == models.Train && !out.Applied {
		return out, err
	}
	if s.program.mode == models.Train {
		s.step = out.GlobalStep
	}
	for _, h := range s.hooks {
		if _, ok := h.(hooks.Tensorless); !ok && !s.ran {
			continue
		}
		if err := h.AfterRun(ctx, s.self); err != nil {
			return out, err
		}
	}
	return out, nil
}

// closeStepper frees the program, which reads no batch any more then.
func (s *session) closeStepper() error {
	if s.stepper == nil {
		return nil
	}
	err := s.stepper.Close()
	s.stepper = nil
	return err
}

// close frees the program and the variables. The input has been closed.
func (s *session) close() error { return errors.Join(s.closeStepper(), s.closeStrategy()) }
