package distribute

import (
	"context"
	"errors"
	"time"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// GlobalStep is the name of the int64 scalar variable that counts training steps.
const GlobalStep = "global_step"

// ErrSessionLost is wrapped by errors of steps after which the job continues once every
// task has synchronized again: a worker left, or a parameter server came back without its
// state.
var ErrSessionLost = errors.New("the session was lost")

// ErrInterrupted is wrapped by errors of training that the caller, or another task in lock step, has interrupted.
var ErrInterrupted = errors.New("training was interrupted")

// ErrPeerLost is wrapped by errors about a task that was not reached within its
// deadline. The process should end, to be started again.
var ErrPeerLost = errors.New("a task of the cluster was lost")

// A Strategy owns variables and turns programs into steps on its devices.
type Strategy interface {
	// Name is the strategy's name in config files.
	Name() string
	// Replicas returns how many replicas make one update.
	Replicas() Replicas
	// Variables returns the variables.
	Variables() Variables
	// Train prepares a training program. The variables that it uses must exist.
	Train(p TrainProgram) (Stepper, error)
	// Infer prepares a program that does not change variables.
	Infer(p Program) (Stepper, error)
	// Snapshot returns the state at one moment between steps.
	Snapshot(ctx context.Context) (*Snapshot, error)
	// Close frees the variables and all other resources. Steppers must be closed first.
	Close() error
}

// Replicas counts the copies of the model that work on one step.
type Replicas struct {
	InSync int // replicas, over all tasks, whose gradients make one update
	Local  int // replicas of this task: the batches that a step takes here
	// Lockstep says that every task takes part in every step, so that none may stop alone.
	Lockstep bool
	// Sharded says that the variables are spread over other tasks.
	Sharded bool
}

// A Shared strategy's variables belong to a job of several tasks.
type Shared interface {
	Strategy
	// Synchronize brings this task's variables to the state of the job. Every task
	// calls it before its first step and after an error that wraps ErrSessionLost.
	// If no task has the job's state, the chief's restore is called: it sets the
	// variables from which training continues, and returns the notes to share with all
	// tasks. Synchronize returns the job's notes.
	Synchronize(ctx context.Context, restore func() (Notes, error)) (Notes, error)
	// Drain ends this task's training. On the chief it returns when no task changes the
	// variables any more: workers are asked to stop or, if toEnd is set, reach the ends
	// of their inputs.
	Drain(ctx context.Context, toEnd bool) error
	// Finish leaves the job after Drain. over says whether training is done or only
	// interrupted. A task in lock step with the chief waits, for a limited time, for the
	// chief to finish.
	Finish(ctx context.Context, over bool) error
}

// A Gatherer is a strategy whose tasks, in lock step, can exchange more than gradients.
type Gatherer interface {
	// Rank is this task's number among the tasks that gather.
	Rank() int
	// Gather returns the values of all tasks by rank. All call it between the same two steps.
	Gather(ctx context.Context, value []byte) ([][]byte, error)
}

// An Elastic strategy's tasks may leave and join. All read the same input, and each takes
// its share of every step.
type Elastic interface {
	// Share returns this task's share of the next step, false if tasks may not leave and join.
	Share() (Share, bool)
	// Leave says, after a step with Stop Leaving, that this task takes part in no further step.
	Leave(ctx context.Context)
}

// Notes are what tasks share in addition to variables: the state of each input pipeline
// by worker rank, after the batches that the variables have seen. If the strategy is
// Elastic there is only one, for rank 0.
type Notes struct {
	Positions map[int][]byte
	Folder    string // name of the chief's model_dir, if another worker may take the chief's place
	Workers   int    // number of workers with which Elastic training began; 0: it has not, or is not Elastic
}

// Variables is a set of named variables that programs are bound to.
type Variables interface {
	// Create adds a variable with its initial value; the name must be new.
	Create(name string, t graph.Type, initial Fill) error
	// Names returns all names, sorted.
	Names() []string
	// Type returns a variable's type and shape, false if there is no such variable.
	Type(name string) (graph.Type, bool)
	// Get returns a copy of a variable's value.
	Get(name string) (*tensor.Tensor, error)
	// Set replaces a value.
	Set(name string, value Fill) error
}

// Fill writes rows of a variable's value, from row first on along its first dimension,
// into dst. dst has the variable's type and shape, except for the number of rows. Fill may
// be called for any rows, in any order, until the strategy is synchronized. If the strategy
// is not Shared, Fill must be called immediately.
type Fill func(dst *tensor.Tensor, first int) error

// Snapshot is the state of a strategy at one moment between steps.
type Snapshot struct {
	Step    int64
	Tensors map[string]*tensor.Tensor // whole variables, to be read before the next step
	Parts   []Part                    // the pieces of the other variables
	Notes   Notes                     // of the other tasks
	// Close frees the snapshot; nil if there is nothing to free.
	Close func() error
}

// Part is a piece of a variable: Rows rows from First on along its first dimension.
type Part struct {
	Name  string
	Type  graph.Type // of the whole variable
	First int
	Rows  int
	Whole bool // this is the only piece
	// Read returns the piece's value. It may be called once, while the snapshot is open.
	Read func() (*tensor.Tensor, error)
}

// Program is a graph with its inputs and results.
type Program struct {
	Graph   *graph.Graph
	Feeds   []graph.Output
	Fetches []graph.Output
	Profile bool // time each node: see Stepper.Profile
}

// TrainProgram is a program with the additional data for an update.
type TrainProgram struct {
	Program
	GlobalStep graph.Output // value of the global step at the start of a step
	Loss       graph.Output // float scalar
	Train      *optimizers.TrainOp
	Gradients  []lower.Value  // in the order of Train's groups and their variables
	Args       []graph.Output // of Train's step function
	Updates    []Update
	Terms      Terms
	// Rows is the number of rows of a replica's full batch. Means on the host weigh replicas by their rows. 0: replicas count equally.
	Rows int
}

// Update is an assignment made in each training step.
type Update struct {
	Variable string
	Value    graph.Output
}

// Batch is the data of one replica in one step.
type Batch struct {
	Rows  int
	Feeds []*tensor.Tensor // in the order of Program.Feeds; valid until the step returns
}

// Step is one task's part of a step.
type Step struct {
	// Batches has one batch per local replica; fewer at the end of the input. Without any,
	// a task of several takes part only because the others need it.
	Batches []Batch
	// Began is when this task began the step, by reading its batches; zero: with the call.
	Began time.Time
	// Position returns the state of the input after the batches. It is called during the
	// step, if at all. nil: there is none.
	Position func() ([]byte, error)
	// Stop asks all tasks in lock step with this one to stop after this step.
	Stop Stop
	// Unread says that nobody reads values or the learning rate of this step. It may still be running when Step returns, and
	// then has no values. A later step, at the latest the first one that is read, returns the errors of this step.
	Unread bool
	// Waiting, if not nil, ends the wait for other tasks' part of the step when it ends:
	// the outcome is then not applied, and Interrupted.
	Waiting context.Context
}

// began returns when this task began the step.
func (s *Step) began() time.Time {
	if s.Began.IsZero() {
		return time.Now()
	}
	return s.Began
}

// Stop says whether and why training stops. Of several values the greatest counts.
type Stop int

// The kinds of stop.
const (
	GoOn        Stop = iota
	Leaving          // this task leaves; with an Elastic strategy the others continue without it
	Finished         // training is over
	Interrupted      // a process has to end; training continues when it is started again
)

// Outcome is the outcome of a step.
type Outcome struct {
	GlobalStep int64 // after the step
	Stop       Stop  // what any task asked for
	Applied    bool  // there was data to train on, here or in another task
}

// Stepper runs a program step by step.
type Stepper interface {
	// Step runs one step. The outcome of a program that does not train is empty.
	Step(ctx context.Context, s Step) (Outcome, error)
	// Value returns fetch i of the last step, valid until the next: the value of this
	// task's first replica or, for the loss, the mean over all replicas.
	Value(i int) *tensor.Tensor
	// LearningRate returns the rate that the last step applied, 0 without an optimizer.
	LearningRate() float64
	// Profile returns the time of each node over all steps, if the program asked for it.
	Profile() []NodeTime
	// Close frees the program, but not the variables.
	Close() error
}

// A Prefetcher is a Stepper that benefits from knowing the next steps' batches: it
// fetches what they need while the current step runs.
type Prefetcher interface {
	// Ahead is the number of steps whose batches may be prefetched beyond the next step;
	// 0: none.
	Ahead() int
	// Prefetch begins to fetch for batches. Later calls of Step must pass these batches in the same order.
	Prefetch(ctx context.Context, batches []Batch) error
}

// An Uploader is a Prefetcher that copies batches to its devices. It recognises batches by their lists of feeds, so that
// steps may also take other batches.
type Uploader interface {
	Prefetcher
	// Forget drops what was prefetched. Its memory may then be changed.
	Forget() error
}

// An Enqueuer is a Stepper that may support Step.Unread.
type Enqueuer interface {
	// Enqueues reports whether Step returns without waiting for unread steps.
	Enqueues() bool
}

// NodeTime is the time of one node over all steps.
type NodeTime = engine.NodeTime
