package estimator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// session is a program with its variables on a strategy. It has no loop: a hookedLoop
// runs steps and hooks.
type session struct {
	est      *Estimator
	program  *program
	schema   *inputs.Schema
	strategy distribute.Strategy
	stepper  distribute.Stepper

	fetches  []graph.Output
	index    map[string]int // of fetches, by the name under which they were requested
	compiled int            // the number of fetches that the stepper was compiled with
	profile  bool           // time the nodes
	profiled bool           // the stepper times them
	terms    distribute.Terms
	feeds    []fed
	headroom headroom
	pinned   *device.PinnedPool // memory for batches; nil: ordinary memory
}

// newSession builds a mode's program for data of that schema, and creates its
// variables with their initial values on a strategy with that config.
func (e *Estimator) newSession(mode models.Mode, schema *inputs.Schema, config distribute.Config) (*session, error) {
	p, err := e.startProgram(mode, schema)
	if err != nil {
		return nil, err
	}
	s := &session{est: e, program: p, schema: schema, index: map[string]int{}, headroom: headroom{least: p.sizes}}
	s.setFeeds()
	if s.strategy, err = distribute.New(config); err != nil {
		return nil, err
	}
	s.pinned = newPinnedPool(s.strategy)
	if err := s.initialize(s.strategy.Variables().Create); err != nil {
		return nil, errors.Join(err, s.strategy.Close())
	}
	return s, nil
}

// newStager returns a stager for the program's feeds.
func (s *session) newStager() *stager {
	return newStager(s.schema, s.feeds, s.strategy.Replicas().Local)
}

// fetchNamed asks for a tensor by name.
func (s *session) fetchNamed(name string) error {
	if _, ok := s.index[name]; ok || (name == learningRate && s.program.mode == models.Train) {
		return nil
	}
	o, err := s.output(name)
	if err != nil {
		return err
	}
	s.fetch(name, o)
	return nil
}

// fetch asks for an output under a name that the caller chooses.
func (s *session) fetch(name string, o graph.Output) {
	if i, ok := s.index[name]; !ok || s.fetches[i] != o {
		s.index[name] = len(s.fetches)
		s.fetches = append(s.fetches, o)
	}
}

// output finds "loss", an output by its TensorFlow name, or a prediction by its name.
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
	if i := slices.IndexFunc(s.program.predictions, func(p named) bool { return p.name == name && p.text == nil }); n == nil && i >= 0 {
		return s.program.predictions[i].output, nil
	}
	if n == nil || index < 0 || index >= len(n.Outputs) || n.Outputs[index].DType == tensor.Resource {
		return graph.Output{}, s.unknownTensor(name)
	}
	return n.Out(index), nil
}

// unknownTensor returns an error that lists the names there are.
func (s *session) unknownTensor(name string) error {
	known := []string{"loss"}
	for _, p := range s.program.predictions {
		if p.text == nil {
			known = append(known, p.name)
		}
	}
	expected := strings.Join(known, ", ")
	for _, n := range s.program.graph.Nodes() {
		known = append(known, n.Name)
	}
	near := spelling.Nearest(name, known)
	if near != "" {
		near = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("no tensor %q in the graph of mode %s%s: expected one of %s, or a node of the graph, which graph.pbtxt in model_dir and `goestimator inspect model --graph` list",
		name, s.program.mode, near, expected)
}

// prepared reports whether the compiled program has all requested fetches.
func (s *session) prepared() bool {
	return s.stepper != nil && s.compiled == len(s.fetches) && (s.profiled || !s.profile)
}

// prepare compiles the program with the requested fetches, unless it is compiled
// already.
func (s *session) prepare() error {
	if s.prepared() {
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
		s.logPlacement()
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

// skipLimit is the number of consecutive non-finite updates that may be skipped; 0: none.
func (s *session) skipLimit() int64 {
	if op := s.program.spec.TrainOp; op != nil {
		return op.SkipNonFinite
	}
	return 0
}

// training adds the parts of an update to the computed outputs.
func (p *program) training(computed distribute.Program) distribute.TrainProgram {
	t := p.effects.Program(computed, p.spec.TrainOp)
	t.GlobalStep, t.Loss = p.step, p.loss
	return trace.Guarded(t)
}

// closeStepper frees the program, which then reads no more batches.
func (s *session) closeStepper() error {
	if s.stepper == nil {
		return nil
	}
	err := s.stepper.Close()
	s.stepper = nil
	return err
}

// close frees the program and the variables. The input must be closed first.
func (s *session) close() error { return errors.Join(s.closeStepper(), s.closeStrategy()) }
