package distribute

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Build is the text of a function. It is run twice, at stand-in batch sizes, when the function is made.
type Build func(c *Context) (Outputs, error)

// Outputs are what a function computes.
type Outputs struct {
	// Loss is the scalar that is minimised, or of interest; nil where there is none.
	Loss *G.Node
	// Train says how the loss is minimised: for mode Train, and for it alone.
	Train *optimizers.TrainOp
	// Values are results by name.
	Values map[string]*G.Node
	// Metrics are the operands of metrics, by the names that these have: each run updates them.
	Metrics map[string][]*G.Node
}

// Context is what a function is built with: a Builder for its variables and ops,
// and the arguments that it declares.
type Context struct {
	*models.Builder
	replicas int
	args     []arg
	nodes    []*G.Node // of the arguments
}

var _ models.Context = (*Context)(nil)

// Arg declares an argument, whose rows have that shape, and returns its value, [batch, shape...].
func (c *Context) Arg(name string, d tensor.DType, shape ...int) *G.Node {
	if slices.ContainsFunc(c.args, func(a arg) bool { return a.name == name }) {
		c.Failf("argument %q is declared twice", name)
		return nil
	}
	n := c.Input("args/"+name, d, append([]int{c.Batch()}, shape...)...)
	c.args = append(c.args, arg{name, d, shape})
	c.nodes = append(c.nodes, n)
	return n
}

// NumReplicasInSync is how many replicas make one step.
func (c *Context) NumReplicasInSync() int { return c.replicas }
