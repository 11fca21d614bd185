package keyvalue

import (
	"fmt"
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// checkNumbers refuses invalid numbers.
func checkNumbers(numbers ...uint64) error {
	for _, n := range numbers {
		if n > maxGeneration {
			return fmt.Errorf("%w: a rank, size or generation is %d, expected at most %d", ErrInvalid, n, int64(maxGeneration))
		}
	}
	return nil
}

// decodeRequest reads a request and checks its numbers.
func decodeRequest(b []byte) (*wire.StoreRequest, error) {
	r := &wire.StoreRequest{}
	if err := wire.Decode(b, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return r, checkNumbers(r.Rank, r.Size, r.After)
}

// decodeReply reads a reply and checks its numbers.
func decodeReply(b []byte) (*wire.StoreReply, error) {
	r := &wire.StoreReply{}
	if err := wire.Decode(b, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := checkNumbers(r.Generation); err != nil {
		return nil, err
	}
	if err := checkNumbers(r.Missing...); err != nil {
		return nil, err
	}
	for _, m := range r.Members {
		if err := checkNumbers(m.Index, m.Rank, m.LastSeenMs, m.State); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func gatherOf(r *wire.StoreRequest) Gather {
	return Gather{Name: r.Name, Rank: int(r.Rank), Size: int(r.Size), Value: r.Value}
}

// holdOf is how long a request may be held.
func holdOf(r *wire.StoreRequest) time.Duration {
	return time.Duration(min(r.WaitMs, uint64(maxHold.Milliseconds()))) * time.Millisecond
}

func milliseconds(d time.Duration) uint64 { return uint64(max(d.Milliseconds(), 0)) }

func missingMessage(ranks []int) []uint64 {
	out := make([]uint64, len(ranks))
	for i, r := range ranks {
		out[i] = uint64(r)
	}
	return out
}

func missingOf(ranks []uint64) []int {
	var out []int
	for _, r := range ranks {
		out = append(out, int(r))
	}
	return out
}

func memberMessage(m Member) *wire.Member {
	return &wire.Member{Job: m.Task.Job, Index: uint64(m.Task.Index), Incarnation: m.Incarnation, Rank: uint64(m.Rank),
		LastSeenMs: milliseconds(m.LastSeen), State: uint64(m.State), StepSecs: m.StepSecs}
}

func memberOf(m *wire.Member) Member {
	return Member{Peer: cluster.Peer{Task: cluster.Task{Job: m.Job, Index: int(m.Index)}, Incarnation: m.Incarnation},
		Rank: int(m.Rank), State: State(m.State), StepSecs: m.StepSecs,
		LastSeen: time.Duration(min(m.LastSeenMs, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond}
}
