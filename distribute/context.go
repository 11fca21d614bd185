package distribute

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Build builds a function. It is called twice, at stand-in batch sizes, when the function is made.
type Build func(c *Context) (Outputs, error)

// Outputs are the results of a function.
type Outputs struct {
	// Loss is the scalar to minimise, or just to report; nil for none.
	Loss *G.Node
	// Train says how the loss is minimised. It is required for mode Train, and not allowed otherwise.
	Train *optimizers.TrainOp
	// Values are results by name.
	Values map[string]*G.Node
	// Metrics are the operands of metrics, by the metrics' names: each run updates these metrics.
	Metrics map[string][]*G.Node
}

// Context is the argument of Build: a Builder for variables and ops, and the arguments
// that the function declares.
type Context struct {
	*models.Builder
	replicas int
	args     []arg
	nodes    []*G.Node // of the arguments
}

var _ models.Context = (*Context)(nil)

// Arg declares an argument whose rows have the given shape, and returns its value, [batch, shape...].
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

// NumReplicasInSync returns the number of replicas that make one step.
func (c *Context) NumReplicasInSync() int { return c.replicas }
