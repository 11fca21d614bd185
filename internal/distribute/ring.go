package distribute

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
)

// ring reduces the sums of a step over the workers of a job. Dense results are sent while
// later ones are still being computed.
type ring struct {
	job       *Job
	group     *collective.Group
	reduction *collective.Reduction
	tensors   []*tensor.Tensor
	stay      int                // number of dense results before the ones that are sent
	cancel    context.CancelFunc // ends the reduction of the current step
	step      int64              // steps made
	parts     []byte
	secs      []float64 // seconds of the workers' steps by rank, from the last reduction
	elastic   *elastic  // nil: its members do not change
	regroup   bool      // a worker has asked for another ring
}

var _ lockstep = (*ring)(nil)

var errNotSynchronized = errors.New("the strategy is not synchronized yet: call Synchronize first")

// rank is this worker's number.
func (r *ring) rank() int { return r.job.rank }

// tasks is the number of workers.
func (r *ring) tasks() int { return len(r.job.workers) }

// begin starts the reduction: dense results, then the votes, which are already complete.
func (r *ring) begin(ctx context.Context, s *sums, in Step) error {
	if r.group == nil {
		return errNotSynchronized
	}
	if r.regroup {
		return fmt.Errorf("%w: %w", ErrSessionLost, errMembership)
	}
	if r.elastic != nil && r.elastic.someoneWaits() {
		s.ask()
	}
	if in.Position != nil {
		position, err := in.Position()
		if err != nil {
			return r.abort(fmt.Errorf("input position: %w", err))
		}
		r.job.positions.put(r.step+1, position)
	}
	r.tensors = append(append(r.tensors[:0], s.dense[s.stay:]...), s.votes)
	r.stay = s.stay
	ctx, r.cancel = context.WithCancel(ctx)
	var err error
	if r.reduction, err = r.group.Start(ctx, r.tensors, collective.Sum); err != nil {
		r.cancel()
		return sessionLost(err)
	}
	r.ready(len(s.dense))
	if len(in.Batches) == 0 {
		for i := range s.dense {
			r.ready(i)
		}
	}
	return nil
}

// ready sends a result, if it is one that is sent.
func (r *ring) ready(i int) { r.reduction.Ready(i - r.stay) }

// wait ends the reduction, then concatenates sparse gradients by rank.
func (r *ring) wait(ctx context.Context, s *sums) error {
	defer r.cancel()
	if err := r.reduction.Wait(); err != nil {
		return sessionLost(err)
	}
	r.secs, r.regroup = append(r.secs[:0], s.secs()...), s.regroups()
	if r.elastic != nil && s.stop() != GoOn {
		s.discard() // a task that stops has no batch, so rows would be missing
	}
	if s.replicas() > 0 {
		r.step++
	}
	if r.elastic != nil {
		r.elastic.stepped(r.step)
	}
	if len(s.sparse) == 0 {
		return nil
	}
	r.parts = s.appendSparse(r.parts[:0])
	all, err := r.group.AllGather(ctx, r.parts)
	if err != nil {
		return sessionLost(err)
	}
	if err := s.mergeAll(all); err != nil {
		return r.abort(err)
	}
	return nil
}

// abort ends the ring, so that the others do not wait for this worker.
func (r *ring) abort(err error) error {
	if r.cancel != nil {
		r.cancel()
	}
	if r.group == nil {
		return err
	}
	g := r.group
	r.group = nil
	return errors.Join(err, g.Abort(err))
}

func (r *ring) close() error {
	if r.group == nil {
		return nil
	}
	g := r.group
	r.group = nil
	return g.Close()
}

// sessionLost marks the loss of a peer as recoverable.
func sessionLost(err error) error {
	if harm := damaged(err); harm != nil {
		return harm
	}
	if errors.Is(err, cluster.ErrPeerLost) {
		return fmt.Errorf("%w: %w", ErrSessionLost, err)
	}
	return err
}

// appendSparse appends the gathered rows: a SparseSums with its length first, then the
// ids and rows of each gradient.
func (s *sums) appendSparse(b []byte) []byte {
	head := &wire.SparseSums{Rows: int64(s.rows)}
	for _, j := range s.sparse {
		head.IdsBytes, head.RowsBytes = append(head.IdsBytes, uint64(len(j.ids.Bytes))), append(head.RowsBytes, uint64(len(j.rows.Bytes)))
	}
	text := wire.Encode(head)
	b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	for _, j := range s.sparse {
		b = append(append(b, j.ids.Bytes...), j.rows.Bytes...)
	}
	return b
}

// mergeAll replaces the gathered rows by all tasks' rows.
func (s *sums) mergeAll(all [][]byte) error {
	for i := range s.sparse {
		s.sparse[i].reset()
	}
	s.rows = 0
	for rank, b := range all {
		if err := s.merge(b); err != nil {
			return fmt.Errorf("sparse gradients of worker %d: %w", rank, err)
		}
	}
	return nil
}

func (s *sums) merge(b []byte) error {
	next := func(n uint64) ([]byte, error) {
		if uint64(len(b)) < n {
			return nil, fmt.Errorf("expected %d bytes more, got %d", n, len(b))
		}
		head := b[:n]
		b = b[n:]
		return head, nil
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return errors.New("expected the length of what begins it")
	}
	b = b[size:]
	text, err := next(n)
	if err != nil {
		return err
	}
	var head wire.SparseSums
	if err := wire.Decode(text, &head); err != nil {
		return err
	}
	if len(head.IdsBytes) != len(s.sparse) || len(head.RowsBytes) != len(s.sparse) {
		return fmt.Errorf("%d ids and %d rows, expected %d of both", len(head.IdsBytes), len(head.RowsBytes), len(s.sparse))
	}
	s.rows += int(head.Rows)
	for i := range s.sparse {
		ids, err := next(head.IdsBytes[i])
		if err != nil {
			return err
		}
		rows, err := next(head.RowsBytes[i])
		if err != nil {
			return err
		}
		if err := s.sparse[i].add(rows, ids); err != nil {
			return err
		}
	}
	return nil
}
