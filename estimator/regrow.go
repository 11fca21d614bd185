package estimator

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
)

// setFeeds sets what the program's feeds take from each record.
func (s *session) setFeeds() {
	s.feeds = nil
	for _, f := range s.program.feeds {
		next := fed{column: s.schema.Index(f.column.Name), encoder: f.encoder}
		if f.ragged != nil {
			next.ragged = &raggedFeed{RaggedInput: f.ragged, column: next.column, like: s.schema.Index(f.ragged.Like)}
		}
		s.feeds = append(s.feeds, next)
	}
}

// startProgram builds the first program of a session, with the smallest sizes. If a
// longer example would train more variables, such as a recurrent step's, it
// builds for that length, since the variables need slots from the start.
func (e *Estimator) startProgram(mode models.Mode, schema *inputs.Schema) (*program, error) {
	p, err := e.buildProgram(mode, schema, nil)
	if err != nil || len(p.unreached) == 0 {
		return p, err
	}
	sizes := raggedSizes{}
	for _, c := range fedColumns(mode, schema) {
		if c.Ragged && c.Role != inputs.Label {
			sizes[c.Name] = models.RaggedSize{Capacity: 2, Length: 2}
		}
	}
	if len(sizes) == 0 {
		return p, nil
	}
	longer, err := e.buildProgram(mode, schema, sizes)
	if err != nil {
		return nil, err
	}
	if p.sameSlots(longer) == nil {
		return p, nil
	}
	return longer, nil
}

// fit makes the program's capacity sufficient for the stagers' records. If a ragged
// column has more values or a longer example, the program is built and compiled again,
// and the records are staged again. If records have long needed far less, the program
// is built smaller.
func (s *session) fit(stagers ...*stager) error {
	for {
		var need raggedSizes
		for _, st := range stagers {
			if st.need != nil {
				need = need.raise(st.need)
			}
		}
		var sizes raggedSizes
		if len(need) > 0 {
			s.headroom.grown()
			sizes = s.program.sizes.raise(need)
		} else if sizes = s.headroom.after(s.feeds); sizes == nil {
			return nil
		}
		if err := s.regrow(sizes); err != nil {
			return err
		}
		for _, st := range stagers {
			st.setFeeds(s.feeds)
			if err := st.again(); err != nil {
				return err
			}
		}
	}
}

// regrow replaces the program by one with other sizes and the same variables and fetches.
func (s *session) regrow(sizes raggedSizes) error {
	p, err := s.est.buildProgram(s.program.mode, s.schema, sizes)
	if err != nil {
		return err
	}
	if err := s.program.sameVariables(p); err != nil {
		return err
	}
	if err := s.program.sameSlots(p); err != nil {
		return err
	}
	if p.spec.TrainOp != nil {
		p.spec.TrainOp.Unreached = nil // reported once
	}
	fetches, err := s.program.moved(s.fetches, p)
	if err != nil {
		return err
	}
	if err := s.stepper.Close(); err != nil {
		return err
	}
	s.program, s.fetches = p, fetches
	s.setFeeds()
	s.stepper, err = s.compile()
	return err
}

// sameVariables returns an error if the variables depend on the sizes that a program is built for.
func (p *program) sameVariables(o *program) error {
	for i, v := range p.variables {
		if i >= len(o.variables) || o.variables[i].Name != v.Name || o.variables[i].DType != v.DType || !slices.Equal(o.variables[i].Shape, v.Shape) {
			return fmt.Errorf("variable %s depends on the length of a ragged column: expected the same variables for data of any length", v.Name)
		}
	}
	if len(o.variables) > len(p.variables) {
		return fmt.Errorf("variable %s depends on the length of a ragged column: expected the same variables for data of any length", o.variables[len(p.variables)].Name)
	}
	return nil
}

// sameSlots returns an error if another build trains variables that p does not train:
// the optimizer has no state for them.
func (p *program) sameSlots(o *program) error {
	for _, name := range p.unreached {
		if !slices.Contains(o.unreached, name) {
			return fmt.Errorf("variable %s reaches the loss only where an example of a ragged column is longer than 2: expected a model that trains the same variables from 2 values on", name)
		}
	}
	return nil
}

// moved returns the outputs of another build of p that correspond to the given ones: by
// their role, such as loss or prediction, or else by name.
func (p *program) moved(outputs []graph.Output, to *program) ([]graph.Output, error) {
	from, there := p.outputs(), to.outputs()
	out := make([]graph.Output, len(outputs))
	for i, o := range outputs {
		if k := slices.Index(from, o); k >= 0 && k < len(there) {
			out[i] = there[k]
			continue
		}
		n := to.graph.Node(o.Node.Name)
		if n == nil && o.Node.Op == "ReadVariableOp" { // for a summary of a variable
			if v := to.graph.Node(o.Node.Inputs[0].Node.Name); v != nil {
				out[i] = graph.NewBuilder(to.graph).Read(v.Out(0), o.Type())
				continue
			}
		}
		if n == nil || o.Index >= len(n.Outputs) {
			return nil, fmt.Errorf("tensor %s is not there for data of another length: fetch one that does not depend on it", o)
		}
		out[i] = n.Out(o.Index)
	}
	return out, nil
}

// outputs returns the outputs that a program names, in the same order for all builds of a model.
func (p *program) outputs() []graph.Output {
	out := []graph.Output{p.loss, p.step}
	for _, x := range p.predictions {
		out = append(out, x.output)
	}
	for _, m := range p.metrics {
		out = append(out, m.args...)
	}
	for _, g := range p.effects.Gradients {
		out = append(out, g.Outputs()...)
	}
	for _, x := range p.summaries {
		out = append(out, x.output)
	}
	return append(out, p.effects.Args...)
}
