package eager

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// goldenSequence is a sequence of TensorFlow ops: see interop/eager_sequences.py.
type goldenSequence struct {
	Name  string
	Steps []goldenStep
	Error string // of the last step
}

type goldenStep struct {
	Op, Node string
	Attrs    map[string]goldenAttr
	Inputs   []struct {
		Tensor       *goldenTensor
		Step, Output int
	}
	Outputs []*goldenTensor // nil: a variable, a table or a list
}

// TestSequences: sequences of ops on variables, tables and lists have TensorFlow 2.15's results and refusals.
func TestSequences(t *testing.T) {
	var d differ
	for _, c := range readCases[goldenSequence](t, "testdata/sequences.json.gz") {
		d.check(t, "sequence "+c.Name, c.compare(t, 0))
	}
	d.done(t, func(name string) bool { return strings.HasPrefix(name, "sequence ") })
}

func (c goldenSequence) compare(t testing.TB, tolerance float64) error {
	env := &Env{Resources: NewResources(), Open: func(path string) (io.ReadCloser, error) { return os.Open(path) }}
	var done [][]Value
	for k, s := range c.Steps {
		n := &graph.Node{Name: s.Node, Op: s.Op, Attrs: graph.Attrs{}}
		for name, a := range s.Attrs {
			n.Attrs[name] = a.value(t)
		}
		var in []Value
		for _, x := range s.Inputs {
			if x.Tensor != nil {
				in = append(in, Value{T: x.Tensor.tensor()})
			} else {
				in = append(in, done[x.Step][x.Output])
			}
		}
		out, err := Run(context.Background(), n, in, env)
		fails := c.Error != "" && k == len(c.Steps)-1
		switch {
		case fails && err == nil:
			return fmt.Errorf("%s: accepted, expected the error %q", s.Op, c.Error)
		case fails:
			return nil
		case err != nil:
			return err
		case len(out) != len(s.Outputs):
			return fmt.Errorf("%s: got %d outputs, expected %d", s.Op, len(out), len(s.Outputs))
		}
		for i, want := range s.Outputs {
			if want == nil {
				continue
			}
			if err := near(out[i].T, want.tensor(), tolerance); err != nil {
				return fmt.Errorf("%s, output %d: %w", s.Op, i, err)
			}
		}
		done = append(done, out)
	}
	return nil
}

// stepCases returns the steps of all sequences as cases of their ops.
func stepCases(t testing.TB) (all []goldenCase) {
	for _, c := range readCases[goldenSequence](t, "testdata/sequences.json.gz") {
		for k, s := range c.Steps {
			step := goldenCase{Name: c.Name, Op: s.Op}
			for _, x := range s.Inputs {
				if x.Tensor != nil {
					step.Inputs = append(step.Inputs, *x.Tensor)
				}
			}
			if k == len(c.Steps)-1 {
				step.Error = c.Error
			}
			all = append(all, step)
		}
	}
	return all
}
