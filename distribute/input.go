package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
)

// Input is a data set whose batches are divided over the replicas.
type Input struct {
	strategy *Strategy
	ds       inputs.Dataset
	global   int       // rows of one step over all replicas; 0: it is not known
	position []byte    // where the next Iterator begins; nil: at the beginning
	it       *Iterator // the latest, while it is open
}

// Distribute divides a data set: each step takes globalBatch rows over all
// replicas in sync, however the data set is batched. Its position is part of checkpoints.
func (s *Strategy) Distribute(ds inputs.Dataset, globalBatch int, shard Shard) (*Input, error) {
	if ds == nil {
		return nil, errors.New("distribute: expected a data set")
	}
	ic := s.inputContext(globalBatch)
	batch, err := ic.PerReplicaBatch()
	if err != nil {
		return nil, fmt.Errorf("distribute: %w", err)
	}
	if ds, err = shard.share(ds, ic); err != nil {
		return nil, fmt.Errorf("distribute: %w", err)
	}
	return s.addInput(inputs.Pipe(ds, inputs.Batch(batch, false)), globalBatch)
}

// FromFunction is an Input of what fn returns for this task: its share of the data, in
// batches of one replica (inputs.Context.PerReplicaBatch). inputs.Open makes such a
// data set of files, shared by files or rows.
func (s *Strategy) FromFunction(globalBatch int, fn func(ic inputs.Context) (inputs.Dataset, error)) (*Input, error) {
	if fn == nil {
		return nil, errors.New("distribute: expected a function")
	}
	ds, err := fn(s.inputContext(globalBatch))
	if err != nil {
		return nil, err
	}
	if ds == nil {
		return nil, errors.New("distribute: the function returned no data set")
	}
	return s.addInput(ds, globalBatch)
}

func (s *Strategy) addInput(ds inputs.Dataset, global int) (*Input, error) {
	if s.opened {
		return nil, ErrBuilt
	}
	in := &Input{strategy: s, ds: ds, global: global}
	s.inputs = append(s.inputs, in)
	return in, nil
}

// inputContext says which share of the data this task takes.
func (s *Strategy) inputContext(global int) inputs.Context {
	return inputs.Context{Pipeline: s.rank(), NumPipelines: max(s.config.NumWorkers(), 1), ReplicasInSync: s.NumReplicasInSync(), GlobalBatch: global, Seed: s.seed}
}

// Iterator is one pass over an Input.
type Iterator struct {
	input   *Input
	it      inputs.Iterator
	readers []*inputs.TensorReader // by replica
	batch   Batch
	records []arrow.Record
	asked   bool // for a batch
	ended   bool // no more of this task's share
	over    bool // Next has returned io.EOF
	runs    int  // of training functions, before the latest batch was asked for
}

// Iterate begins a pass: after Restore, the first one goes on where the checkpoint left
// it. The error wraps inputs.ErrStateMismatch where that had
// other batches or tasks.
func (in *Input) Iterate(ctx context.Context) (*Iterator, error) {
	if in.strategy.closed {
		return nil, errClosed
	}
	if err := in.close(); err != nil {
		return nil, err
	}
	it, err := in.ds.Iterate(ctx)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if in.position != nil {
		if err := it.Restore(in.position); err != nil {
			return nil, errors.Join(fmt.Errorf("input: position of the checkpoint: %w", err), it.Close())
		}
		in.position = nil
	}
	in.it = &Iterator{input: in, it: it, runs: in.strategy.runs}
	for range in.strategy.LocalReplicas() {
		in.it.readers = append(in.it.readers, inputs.NewTensorReader(in.ds.Schema()))
		in.it.batch = append(in.it.batch, Tensors{})
	}
	return in.it, nil
}

// state is where the next Iterator would begin, or where the open one is; nil at the beginning.
func (in *Input) state() ([]byte, error) {
	if in.it == nil {
		return in.position, nil
	}
	return in.it.state()
}

// close ends the pass that is open.
func (in *Input) close() error {
	if in.it == nil {
		return nil
	}
	return in.it.Close()
}

// Next returns the next batch of this task, valid until the next call, and io.EOF at
// the end; a checkpoint that is saved then begins the next pass. In lock step a task whose share has ended gets batches without parts, as
// long as the training step before had data in another task.
func (it *Iterator) Next(ctx context.Context) (Batch, error) {
	if it.input.it != it {
		return nil, errors.New("input: the pass has ended: begin another one by Input.Iterate")
	}
	it.release()
	s := it.input.strategy
	first, trained := !it.asked, s.runs > it.runs
	it.asked, it.runs = true, s.runs
	if trained && (s.over || !s.more) {
		it.over = true
		return nil, io.EOF
	}
	for n := range it.readers {
		if err := it.read(ctx, n); err != nil {
			return nil, err
		}
	}
	n := len(it.records)
	if n == 0 && !(s.lockstep() && (first || trained)) {
		it.over = true
		return nil, io.EOF
	}
	return it.batch[:n], nil
}

// read reads the part of replica n, unless the data has ended.
func (it *Iterator) read(ctx context.Context, n int) error {
	for !it.ended {
		rec, err := it.it.Next(ctx)
		if errors.Is(err, io.EOF) {
			it.ended = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("input: %w", err)
		}
		it.records = append(it.records, rec)
		if rec.NumRows() == 0 {
			it.records = it.records[:len(it.records)-1]
			rec.Release()
			continue
		}
		columns, err := it.readers[n].Read(rec)
		if err != nil {
			return fmt.Errorf("input: %w", err)
		}
		for _, c := range columns {
			if c.Offsets == nil {
				it.batch[n][c.Name] = c.Tensor
			}
		}
		return nil
	}
	return nil
}

// state is the position behind the latest batch; nil, the beginning, where the pass is over.
func (it *Iterator) state() ([]byte, error) {
	if it.over {
		return nil, nil
	}
	return it.it.State()
}

func (it *Iterator) release() {
	for _, r := range it.records {
		r.Release()
	}
	it.records = it.records[:0]
}

// Close ends the pass.
func (it *Iterator) Close() error {
	if it.input.it != it {
		return nil
	}
	it.input.it = nil
	it.release()
	return it.it.Close()
}
