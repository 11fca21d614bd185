package optimizers

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	gonum "gonum.org/v1/gonum/graph"
	G "gorgonia.org/gorgonia"
)

// ErrSecondMinimize is recorded when a graph is differentiated twice, which would give
// wrong gradients: sum the losses, or use MinimizeGroups or MinimizeEach.
var ErrSecondMinimize = errors.New("the graph was differentiated before: call Minimize once; sum several losses, give several rules to MinimizeGroups, or each loss variables of its own by MinimizeEach")

// everyVariable matches all names.
var everyVariable = regexp.MustCompile("")

// GroupSpec sets a rule for the variables that match a pattern.
type GroupSpec struct {
	Variables    string // regular expression on the full name; the first spec that matches applies
	Rule         Rule
	LearningRate Schedule
	WeightDecay  float64
	NoDecay      string
}

// Minimize differentiates the scalar loss by the trainable variables that it depends
// on, and returns a TrainOp that updates them. TrainOp.Unreached has the other trainable
// variables. After an error, which the Builder records, the result is nil.
func (o *Optimizer) Minimize(c models.Context, loss *G.Node) *TrainOp {
	return o.MinimizeGroups(c, loss, nil)
}

// MinimizeGroups is Minimize with other rules for some variables; the rest have the
// Optimizer's rule. Transforms, accumulation and loss scale are the Optimizer's for all variables.
func (o *Optimizer) MinimizeGroups(c models.Context, loss *G.Node, specs []GroupSpec) *TrainOp {
	b := c.Core()
	if b.Failed() {
		return nil
	}
	t, err := o.minimize(b, loss, specs, everyVariable)
	if err != nil {
		b.Fail(fmt.Errorf("minimize: %w", err))
		return nil
	}
	return t
}

func (o *Optimizer) minimize(b *models.Builder, loss *G.Node, specs []GroupSpec, of *regexp.Regexp) (*TrainOp, error) {
	if loss == nil || !loss.IsScalar() || loss.Graph() != b.Expr() {
		return nil, errors.New("expected a scalar loss of the model's own graph")
	}
	if o.err != nil {
		return nil, o.err
	}
	if o.Rule == nil || o.LearningRate == nil {
		return nil, errors.New("expected an optimizer with a rule and a learning rate")
	}
	if err := o.Averaging.Check(); err != nil {
		return nil, err
	}
	if o.SkipNonFinite < 0 {
		return nil, fmt.Errorf("skip_nonfinite: got %d: expected updates in a row >= 0", o.SkipNonFinite)
	}
	vars, unreached, err := reached(b, loss, of)
	if err != nil {
		return nil, err
	}
	groups, err := o.groups(vars, specs)
	if err != nil {
		return nil, err
	}
	var wrt []*G.Node
	for _, g := range groups {
		for _, v := range g.Variables {
			wrt = append(wrt, v.Node)
		}
	}
	// Check before Grad, which removes the traces of different nodes that Gorgonia merged.
	if err := lower.Check(b.Expr()); err != nil {
		return nil, err
	}
	scaled, scale, err := o.LossScale.scaled(b, loss)
	if err != nil {
		return nil, err
	}
	grads, err := G.Grad(scaled, wrt...)
	if err != nil {
		return nil, fmt.Errorf("differentiate the loss: %w", err)
	}
	for i := range groups {
		n := len(groups[i].Variables)
		groups[i].Gradients, grads = grads[:n:n], grads[n:]
	}
	return &TrainOp{Loss: loss, Groups: groups, Unreached: unreached, Transforms: o.Transforms,
		AccumulateSteps: o.AccumulateSteps, SlotNames: o.SlotNames, LossScale: o.LossScale, Scale: scale, SkipNonFinite: o.SkipNonFinite}, nil
}

// groups partitions the variables; the Optimizer's own group is the last.
func (o *Optimizer) groups(vars []*models.Variable, specs []GroupSpec) ([]Group, error) {
	var out []Group
	for _, s := range specs {
		p, err := regexp.Compile(s.Variables)
		if err != nil {
			return nil, fmt.Errorf("group: %w", err)
		}
		g := Group{Rule: s.Rule, LearningRate: s.LearningRate, WeightDecay: s.WeightDecay, NoDecay: s.NoDecay, Optimizer: o}
		var rest []*models.Variable
		for _, v := range vars {
			if p.MatchString(v.Name) {
				g.Variables = append(g.Variables, v)
			} else {
				rest = append(rest, v)
			}
		}
		if len(g.Variables) == 0 || g.Rule == nil || g.LearningRate == nil {
			return nil, fmt.Errorf("group %q matches %d variables: expected at least one, a rule and a learning rate", s.Variables, len(g.Variables))
		}
		out, vars = append(out, g), rest
	}
	for _, g := range append(out, Group{Rule: o.Rule}) {
		if err := checkRule(g.Rule); err != nil {
			return nil, err
		}
	}
	if len(vars) > 0 {
		out = append(out, Group{Variables: vars, Rule: o.Rule, LearningRate: o.LearningRate, WeightDecay: o.WeightDecay, NoDecay: o.NoDecay, Optimizer: o})
	}
	for i := range out {
		out[i].Rule = o.Averaging.of(out[i].Rule)
	}
	return out, nil
}

// reached returns the trainable variables with matching names on which the loss depends
// differentiably, and the names of the other matching ones.
func reached(b *models.Builder, loss *G.Node, of *regexp.Regexp) (vars []*models.Variable, others []string, err error) {
	seen := differentiable(loss)
	for _, v := range b.TrainableVariables() {
		switch {
		case !of.MatchString(v.Name):
		case !seen[v.Node]:
			others = append(others, v.Name)
		case v.Node.Deriv() != nil:
			return nil, nil, ErrSecondMinimize
		default:
			vars = append(vars, v)
		}
	}
	if len(vars) == 0 {
		return nil, nil, errors.New("no trainable variable reaches the loss")
	}
	return vars, others, nil
}

// differentiable returns the nodes by which Gorgonia will differentiate the loss.
func differentiable(loss *G.Node) map[*G.Node]bool {
	g := loss.Graph()
	seen := map[*G.Node]bool{loss: true}
	stack := []*G.Node{loss}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		op, ok := n.Op().(G.SDOp)
		if !ok {
			continue
		}
		children := gonum.NodesOf(g.From(n.ID()))
		wrt := op.DiffWRT(len(children))
		for i, c := range children {
			if c := c.(*G.Node); i < len(wrt) && wrt[i] && !seen[c] {
				seen[c] = true
				stack = append(stack, c)
			}
		}
	}
	return seen
}

// TotalLoss returns loss plus the model's regularization losses.
func TotalLoss(c models.Context, loss *G.Node) *G.Node {
	b := c.Core()
	for _, l := range b.RegularizationLosses() {
		if b.Failed() || loss == nil {
			return nil
		}
		sum, err := G.Add(loss, l)
		if err != nil {
			b.Fail(fmt.Errorf("total loss: %w", err))
			return nil
		}
		loss = sum
	}
	return loss
}
