package estimator

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/tensor"
)

// loopView is what hooks see of a loop: its session and its progress.
type loopView struct {
	session *session
	*progress
}

var (
	_ hooks.Setup        = loopView{}
	_ hooks.Run          = loopView{}
	_ hooks.NodeProfiler = loopView{}
)

// learningRate is the tensor name of the rate that an optimizer applies.
const learningRate = "learning_rate"

// Mode is the mode of the loop.
func (v loopView) Mode() string { return string(v.session.program.mode) }

// IsChief reports whether this task writes checkpoints and summaries.
func (v loopView) IsChief() bool { return v.session.est.isChief() }

// Fetch asks for a tensor by name.
func (v loopView) Fetch(name string) error { return v.session.fetchNamed(name) }

// Value returns a tensor of the last step.
func (v loopView) Value(name string) (*tensor.Tensor, error) {
	i, ok := v.session.index[name]
	switch {
	case v.unread && (ok || name == learningRate):
		return nil, fmt.Errorf("tensor %q has no value in step %d, since no hook was to read any: see hooks.Selective", name, v.step)
	case ok && i < v.session.compiled:
		return v.session.stepper.Value(i), nil
	case name == learningRate:
		return tensor.Scalar(v.session.stepper.LearningRate()), nil
	}
	return nil, fmt.Errorf("tensor %q was not asked for: call Fetch in the hook's Begin", name)
}

// ProfileNodes makes the program time its nodes.
func (v loopView) ProfileNodes() { v.session.profile = true }

// NodeTimes returns the time of each node over all steps.
func (v loopView) NodeTimes() []hooks.NodeTime {
	var out []hooks.NodeTime
	for _, n := range v.session.stepper.Profile() {
		out = append(out, hooks.NodeTime{Node: n.Node, Op: n.Op, Count: n.Count, Total: n.Total, Flops: n.Flops, Bytes: n.Bytes})
	}
	return out
}
