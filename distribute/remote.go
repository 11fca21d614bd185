package distribute

import (
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// RemoteFunc is a function that a worker runs for a Coordinator. It runs functions of the
// worker's strategy on batches of the call's iterators. Its results are copied before the
// next function runs. It should return when ctx ends; its error is then ignored.
type RemoteFunc func(ctx context.Context, call *RemoteCall) ([]*tensor.Tensor, error)

// Remote is a function that every task's program has under the same name.
type Remote struct {
	name string
	run  RemoteFunc
}

// WorkerDataset is a data set that every task's program has under the same name.
type WorkerDataset struct{ maker *maker }

// WorkerValue is a value that every task's program has under the same name.
type WorkerValue struct{ maker *maker }

// maker makes a worker's part of a PerWorker.
type maker struct {
	name string
	make func(ctx context.Context, ic inputs.Context) (value any, drop func() error, err error)
}

// remotes has the functions and makers of a strategy by name.
type remotes struct {
	functions map[string]*Remote
	makers    map[string]*maker
}

// Remote registers a function that a Coordinator can schedule. All tasks must register the
// same functions, data sets and values; workers do so before they call Work.
func (s *Strategy) Remote(name string, run RemoteFunc) (*Remote, error) {
	if name == "" || run == nil {
		return nil, errors.New("remote: expected a name and a function")
	}
	if s.remotes.functions[name] != nil {
		return nil, fmt.Errorf("remote function %q: the strategy has another one of that name", name)
	}
	if s.remotes.functions == nil {
		s.remotes.functions = map[string]*Remote{}
	}
	r := &Remote{name, run}
	s.remotes.functions[name] = r
	return r, nil
}

// WorkerDataset registers a data set that each worker makes for itself by fn: its share of the data, or
// all of it, in batches of the size that functions take. It should repeat, so that functions do not reach the
// end; a worker that was lost begins again at the start.
func (s *Strategy) WorkerDataset(name string, fn func(ic inputs.Context) (inputs.Dataset, error)) (*WorkerDataset, error) {
	if fn == nil {
		return nil, errors.New("worker data set: expected a function")
	}
	m, err := s.addMaker(name, func(ctx context.Context, ic inputs.Context) (any, func() error, error) {
		ds, err := fn(ic)
		if err != nil {
			return nil, nil, err
		}
		if ds == nil {
			return nil, nil, errors.New("the function returned no data set")
		}
		it, err := (&Input{strategy: s, ds: ds}).Iterate(ctx)
		if err != nil {
			return nil, nil, err
		}
		return it, it.Close, nil
	})
	return &WorkerDataset{m}, err
}

// WorkerValue registers a value of tensors that each worker makes for itself by fn.
func (s *Strategy) WorkerValue(name string, fn func(ic inputs.Context) ([]*tensor.Tensor, error)) (*WorkerValue, error) {
	if fn == nil {
		return nil, errors.New("worker value: expected a function")
	}
	m, err := s.addMaker(name, func(_ context.Context, ic inputs.Context) (any, func() error, error) {
		v, err := fn(ic)
		return v, func() error { return nil }, err
	})
	return &WorkerValue{m}, err
}

func (s *Strategy) addMaker(name string, fn func(context.Context, inputs.Context) (any, func() error, error)) (*maker, error) {
	if name == "" {
		return nil, errors.New("expected a name of what each worker makes")
	}
	if s.remotes.makers[name] != nil {
		return nil, fmt.Errorf("%q: the strategy has another data set or value of that name", name)
	}
	if s.remotes.makers == nil {
		s.remotes.makers = map[string]*maker{}
	}
	m := &maker{name, fn}
	s.remotes.makers[name] = m
	return m, nil
}

// RemoteCall has the arguments of a RemoteFunc, by their index in Coordinator.Schedule.
// For a PerWorker it has this worker's part.
type RemoteCall struct{ args []any }

// Tensor returns argument i, a tensor.
func (c *RemoteCall) Tensor(i int) (*tensor.Tensor, error) {
	return argument[*tensor.Tensor](c, i, "a tensor")
}

// Iterator returns argument i, a data set of this worker, at the position where the last function left it.
func (c *RemoteCall) Iterator(i int) (*Iterator, error) {
	return argument[*Iterator](c, i, "a data set of each worker")
}

// Value returns argument i, a value of this worker.
func (c *RemoteCall) Value(i int) ([]*tensor.Tensor, error) {
	return argument[[]*tensor.Tensor](c, i, "a value of each worker")
}

func argument[T any](c *RemoteCall, i int, what string) (v T, err error) {
	if i < 0 || i >= len(c.args) {
		return v, fmt.Errorf("argument %d of %d: expected %s", i, len(c.args), what)
	}
	v, ok := c.args[i].(T)
	if !ok {
		return v, fmt.Errorf("argument %d is a %T: expected %s", i, c.args[i], what)
	}
	return v, nil
}
