package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// Input is a data set whose batches are divided among the replicas.
type Input struct {
	strategy *Strategy
	ds       inputs.Dataset
	global   int       // rows of one step over all replicas; 0: unknown
	position []byte    // where the next Iterator begins; nil: at the start
	it       *Iterator // the latest, while it is open
}

// aheadSteps is the number of steps for which Distribute reads batches ahead.
const aheadSteps = 2

// Distribute returns an Input with globalBatch rows for each step, over all replicas in
// sync, however ds is batched. It reads batches for two steps ahead, unless all rows are in
// memory. Checkpoints have the position of the Input.
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
	ahead := aheadSteps * s.LocalReplicas()
	if inputs.InMemory(ds) {
		ahead = 0
	}
	return s.addInput(inputs.Pipe(ds, inputs.Batch(batch, false), inputs.Prefetch(ahead)), globalBatch)
}

// FromFunction returns an Input of the data set that fn returns for this task: its share of
// the data, in batches for one replica (inputs.Context.PerReplicaBatch). inputs.Open makes
// such a data set from files, shared by files or rows.
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

// inputContext describes this task's share of the data.
func (s *Strategy) inputContext(global int) inputs.Context {
	return inputs.Context{Pipeline: s.rank(), NumPipelines: max(s.config.NumWorkers(), 1), ReplicasInSync: s.NumReplicasInSync(), GlobalBatch: global, Seed: s.seed}
}

// Iterator is one pass over an Input.
type Iterator struct {
	input *Input
	it    inputs.Iterator
	now   *staged   // the latest batch
	ahead []*staged // the next batches that were read, in order
	free  []*staged
	used  []*Function // functions that ran on the latest batch
	asked bool        // a batch was asked for
	given bool        // the caller has the latest batch
	ended bool        // no more of this task's share
	over  bool        // Next has returned io.EOF
	runs  int         // runs of training functions before the latest batch was asked for
}

// Iterate begins a pass. The first pass after Restore continues at the checkpoint's
// position. If the checkpoint was made with other batches or tasks, the error wraps
// inputs.ErrStateMismatch; called again, Iterate begins at the start of the data.
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
		err := it.Restore(in.position)
		mismatch := errors.Is(err, inputs.ErrStateMismatch)
		if err == nil || mismatch {
			in.position = nil
		}
		if mismatch {
			err = fmt.Errorf("%w, or call Iterate again, which begins at the beginning", err)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("input: position of the checkpoint: %w", err), it.Close())
		}
	}
	in.it = &Iterator{input: in, it: it, now: in.newStaged(), runs: in.strategy.runs}
	return in.it, nil
}

// state returns the position of the open Iterator, or where the next one would begin; nil at the start.
func (in *Input) state() ([]byte, error) {
	if in.it == nil {
		return in.position, nil
	}
	return in.it.state()
}

// close ends the open pass.
func (in *Input) close() error {
	if in.it == nil {
		return nil
	}
	return in.it.Close()
}

// Next returns the next batch of this task, valid until the next call, and io.EOF at the
// end. A checkpoint saved at the end begins the next pass. In lock step, a task whose share has
// ended gets batches without parts as long as another task had data in the previous training step.
//
// With GPUs, Next also reads the two batches after this one and copies them to the GPUs of their replicas, for the
// functions that ran on the previous batch. To change a batch, replace its tensors: their memory may be being copied.
func (it *Iterator) Next(ctx context.Context) (Batch, error) {
	if it.input.it != it {
		return nil, errors.New("input: the pass has ended: begin another one by Input.Iterate")
	}
	s := it.input.strategy
	first, trained := !it.asked, s.runs > it.runs
	it.asked, it.runs = true, s.runs
	if it.given {
		it.given = false
		if err := it.advance(); err != nil {
			return nil, err
		}
	}
	if trained && (s.over || !s.more) {
		it.over = true
		return nil, io.EOF
	}
	if err := it.fill(ctx, it.now); err != nil {
		return nil, err
	}
	n := len(it.now.records)
	if n == 0 && !(s.lockstep() && (first || trained)) {
		it.over = true
		return nil, io.EOF
	}
	if err := it.readAhead(ctx); err != nil {
		return nil, err
	}
	it.given = true
	return it.now.batch[:n], nil
}

// advance makes the next batch the current one.
func (it *Iterator) advance() error {
	err := it.now.release()
	if len(it.ahead) == 0 {
		return err
	}
	it.free = append(it.free, it.now)
	it.now = it.ahead[0]
	it.ahead = slices.Delete(it.ahead, 0, 1)
	return err
}

// fill reads the missing parts of a batch, unless the data has ended. After an error it can be called again.
func (it *Iterator) fill(ctx context.Context, st *staged) error {
	if err := st.err; err != nil {
		st.err = nil
		return err
	}
	for !it.ended && !st.full() {
		rec, err := it.it.Next(ctx)
		if errors.Is(err, io.EOF) {
			it.ended = true
			return nil
		}
		if err == nil {
			err = st.add(rec)
		}
		if err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	return nil
}

// state returns the position after the latest batch; nil, the start, if the pass is over.
func (it *Iterator) state() ([]byte, error) {
	if it.over {
		return nil, nil
	}
	if len(it.ahead) > 0 {
		return it.ahead[0].before(), nil
	}
	return it.it.State()
}

// Close ends the pass.
func (it *Iterator) Close() error {
	if it.input.it != it {
		return nil
	}
	it.input.it = nil
	errs := []error{it.now.release()}
	for _, st := range it.ahead {
		errs = append(errs, st.release())
	}
	return errors.Join(append(errs, it.it.Close())...)
}
