package distribute

import (
	"context"

	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/lower"
	"github.com/goestimator/goestimator/models/optimizers"
)

// GlobalStep is the name of the int64 scalar variable that counts training steps.
const GlobalStep = "global_step"

// A Strategy owns variables and turns programs into steps on its devices.
type Strategy interface {
	// Name is the strategy's name in config files.
	Name() string
	// NumReplicasInSync is the number of replicas whose gradients make one update.
	NumReplicasInSync() int
	// Variables is where the variables live.
	Variables() Variables
	// Train prepares a training program; the variables that it touches must exist.
	Train(p TrainProgram) (Stepper, error)
	// Infer prepares a program that leaves variables as they are.
	Infer(p Program) (Stepper, error)
	// Close frees the variables and what else is held; steppers are closed before.
	Close() error
}

// Variables is a set of named variables that programs are bound to.
type Variables interface {
	// Create adds a variable with an initial value, which is copied; the name must be new.
	Create(name string, value *graph.Tensor) error
	// Names returns all names, sorted.
	Names() []string
	// Get returns a copy of a variable's value.
	Get(name string) (*graph.Tensor, error)
	// Set replaces a value; type and shape must be the variable's.
	Set(name string, value *graph.Tensor) error
	// Snapshot returns copies of all values as of one moment between steps.
	Snapshot() (map[string]*graph.Tensor, error)
}

// Program is a graph with its inputs and results.
type Program struct {
	Graph   *graph.Graph
	Feeds   []graph.Output
	Fetches []graph.Output
	Profile bool // time each node: see Stepper.Profile
}

// TrainProgram is a program with what is needed for an update.
type TrainProgram struct {
	Program
	GlobalStep graph.Output // value of the global step at the start of a step
	Train      *optimizers.TrainOp
	Gradients  []lower.Value // in the order of Train's groups and their variables
	Updates    []Update
}

// Update is an assignment made in each training step.
type Update struct {
	Variable string
	Value    graph.Output
}

// Stepper runs a program step by step.
type Stepper interface {
	// Step runs one batch of the given number of rows. Feeds must stay valid
	// until it returns.
	Step(ctx context.Context, batch int, feeds []*graph.Tensor) error
	// Value returns fetch i of the last step, valid until the next.
	Value(i int) *graph.Tensor
	// LearningRate returns the rate that the last step applied, 0 without an optimizer.
	LearningRate() float64
	// Profile returns the time of each node over all steps, where the program asked for it.
	Profile() []NodeTime
	// Close frees what the program holds; variables stay.
	Close() error
}

// NodeTime is the time that one node took over all steps.
type NodeTime = engine.NodeTime
