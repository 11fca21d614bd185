package distribute

import (
	"context"
	"fmt"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"slices"

	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// stepFunction runs a StepOp on the copies of its variables. Replicas collect, their
// tallies are added in order, also over tasks, and one result becomes the value of every
// copy.
type stepFunction struct {
	args     []int // fetches
	copies   []*engine.Variables
	peers    lockstep
	replicas []*collector
	tensors  map[string]*tensor.Tensor
	values   *optimizers.StepValues // at the beginning of the step
	versions map[string]uint64      // of the first copy's variables in tensors
	total    optimizers.Tally
	rowCost  int
}

// collector is a replica's instance of the function.
type collector struct {
	run    *optimizers.StepRun
	values *optimizers.StepValues // shares the tensors
	tally  optimizers.Tally
	used   bool // in the current step
	args   []*tensor.Tensor
}

func newStepFunction(op *optimizers.StepOp, args []int, r *replicated) (*stepFunction, error) {
	f := &stepFunction{args: args, copies: r.copies, peers: r.peers, tensors: map[string]*tensor.Tensor{}, versions: map[string]uint64{}, rowCost: rowCost}
	if slices.ContainsFunc(r.devices, func(d device.Device) bool { return d.Kind() != device.KindHost }) {
		f.rowCost = rowCostOnGPUs
	}
	for _, v := range op.Variables {
		if t, ok := r.copies[0].Type(v.Name); !ok || t.DType != v.DType || !t.Shape.Equal(graph.TypeOf(v.DType, v.Shape...).Shape) {
			return nil, fmt.Errorf("step function %q: no variable %s of %v%v", op.Function, v.Name, v.DType, v.Shape)
		}
		f.tensors[v.Name] = tensor.New(v.DType, v.Shape...)
	}
	f.values = optimizers.NewStepValues(f.tensors)
	for range r.replicas {
		c, err := newCollector(op, func(name string) *tensor.Tensor { return f.tensors[name] })
		if err != nil {
			return nil, err
		}
		f.replicas = append(f.replicas, c)
	}
	return f, nil
}

// newCollector returns a replica's instance of a function; value returns its variables.
func newCollector(op *optimizers.StepOp, value func(name string) *tensor.Tensor) (*collector, error) {
	run, err := optimizers.NewStepRun(op.Function, op.Config)
	if err != nil {
		return nil, err
	}
	tensors := map[string]*tensor.Tensor{}
	for _, v := range op.Variables {
		tensors[v.Name] = value(v.Name)
	}
	return &collector{run: run, values: optimizers.NewStepValues(tensors)}, nil
}

// load reads the variables, unless they are unchanged since the previous step, and begins the tallies of a step.
func (f *stepFunction) load() error {
	for name, t := range f.tensors {
		version := f.copies[0].Version(name)
		if version == f.versions[name] {
			continue
		}
		if err := f.copies[0].ReadAt(name, t.Bytes, 0); err != nil {
			return err
		}
		f.versions[name] = version
	}
	for _, c := range f.replicas {
		c.used = false
	}
	return f.replicas[0].run.Begin(f.values, &f.total)
}

// collect passes the fetches of a replica's program for its batch to the function; value
// returns a fetch. Replicas may collect in parallel.
func (f *stepFunction) collect(replica int, value func(int) *tensor.Tensor) error {
	c := f.replicas[replica]
	c.used = true
	return c.collect(f.args, value)
}

func (c *collector) collect(args []int, value func(int) *tensor.Tensor) error {
	c.args = c.args[:0]
	for _, i := range args {
		c.args = append(c.args, value(i))
	}
	if err := c.run.Begin(c.values, &c.tally); err != nil {
		return err
	}
	return c.run.Collect(c.values, c.args, &c.tally)
}

// apply adds what all tasks collected and changes the variables. It returns the new
// global step.
func (f *stepFunction) apply(ctx context.Context) (int64, error) {
	for _, c := range f.replicas {
		if !c.used {
			continue
		}
		if err := f.total.Add(&c.tally); err != nil {
			return 0, f.peers.abort(err)
		}
	}
	if err := f.peers.tally(ctx, &f.total); err != nil {
		return 0, err
	}
	if err := f.replicas[0].run.Apply(f.values, &f.total); err != nil {
		clear(f.versions)
		return 0, f.peers.abort(err)
	}
	if err := f.write(); err != nil {
		clear(f.versions)
		return 0, err
	}
	step, err := f.copies[0].Get(GlobalStep)
	if err != nil {
		return 0, err
	}
	tensor.Values[int64](step)[0]++
	for _, vars := range f.copies {
		if err := vars.Set(GlobalStep, step); err != nil {
			return 0, err
		}
	}
	return tensor.Values[int64](step)[0], nil
}

// How many bytes could be written in the fixed time of one write.
const (
	rowCost       = 1 << 10
	rowCostOnGPUs = 1 << 16
)

// write writes the changes to every copy.
func (f *stepFunction) write() error {
	for _, name := range f.values.Changed() {
		t := f.tensors[name]
		rows, all := f.values.ChangedRows(name)
		all = all || len(rows)*f.rowCost > len(t.Bytes)
		for _, vars := range f.copies {
			if all {
				if err := vars.Set(name, t); err != nil {
					return err
				}
				continue
			}
			size := len(t.Bytes) / t.Shape[0]
			for _, row := range rows {
				if err := vars.WriteAt(name, t.Bytes[row*size:(row+1)*size], row*size); err != nil {
					return err
				}
			}
		}
		f.versions[name] = f.copies[0].Version(name)
	}
	return nil
}

// tally adds the sums over the ring, then concatenates the records by rank.
func (r *ring) tally(ctx context.Context, t *optimizers.Tally) error {
	if r.group == nil {
		return errNotSynchronized
	}
	tell := tensor.Scalar(float64(len(t.Records)))
	tensors := []*tensor.Tensor{tell}
	if len(t.Sums) > 0 {
		sums, err := tensor.FromSlice(t.Sums, len(t.Sums)) // a view
		if err != nil {
			return r.abort(err)
		}
		tensors = append(tensors, sums)
	}
	if err := r.group.AllReduce(ctx, tensors, collective.Sum); err != nil {
		return sessionLost(err)
	}
	if tell.Float(0) == 0 {
		return nil
	}
	all, err := r.group.AllGather(ctx, t.Records)
	if err != nil {
		return sessionLost(err)
	}
	records := make([]byte, 0, int(tell.Float(0)))
	for _, b := range all {
		records = append(records, b...)
	}
	t.Records = records
	return nil
}
