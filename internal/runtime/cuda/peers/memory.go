package peers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

// Memory is a Network within a process, for GPUs of any driver: the twin of NCCL between processes. It sums in the order of
// the ranks. As with NCCL, a rank that waits for one that has left waits until its context ends.
type Memory struct {
	mu       sync.Mutex
	meetings map[string]*meeting
}

var _ Network = (*Memory)(nil)

// NewMemory returns a network without groups.
func NewMemory() *Memory { return &Memory{meetings: map[string]*meeting{}} }

// meeting is a group that is forming or complete.
type meeting struct {
	total  int
	mu     sync.Mutex
	came   map[int]bool   // ranks
	all    chan struct{}  // closed when all have come
	rounds map[int]*round // by number of the sum
}

// round is one sum.
type round struct {
	dtype tensor.DType
	parts [][]byte // by rank; at the end the first is the sum
	came  int
	err   error
	done  chan struct{} // closed when all ranks have brought their parts
}

// Version implements Network.
func (m *Memory) Version(driver.Context) (string, error) { return "memory", nil }

// NewID implements Network.
func (m *Memory) NewID() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := binary.LittleEndian.AppendUint64(nil, uint64(len(m.meetings)))
	m.meetings[string(id)] = nil
	return id, nil
}

// Join implements Network.
func (m *Memory) Join(ctx context.Context, contexts []driver.Context, at Place) (Group, error) {
	if at.First < 0 || len(contexts) == 0 || at.First+len(contexts) > at.Total {
		return nil, fmt.Errorf("join GPUs: expected ranks below %d, got %d from %d on", at.Total, len(contexts), at.First)
	}
	x, err := m.meeting(at)
	if err != nil {
		return nil, err
	}
	if err := x.enter(at.First, len(contexts)); err != nil {
		return nil, err
	}
	select {
	case <-x.all:
		return &memoryGroup{meeting: x, contexts: contexts, first: at.First}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("join GPUs: wait for the other ranks: %w", context.Cause(ctx))
	}
}

func (m *Memory) meeting(at Place) (*meeting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, known := m.meetings[string(at.ID)]
	if !known {
		return nil, errors.New("join GPUs: no group has that ID")
	}
	if x == nil {
		x = &meeting{total: at.Total, came: map[int]bool{}, all: make(chan struct{}), rounds: map[int]*round{}}
		m.meetings[string(at.ID)] = x
	}
	if x.total != at.Total {
		return nil, fmt.Errorf("join GPUs: expected %d ranks, got %d", x.total, at.Total)
	}
	return x, nil
}

func (x *meeting) enter(first, n int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for r := first; r < first+n; r++ {
		if x.came[r] {
			return fmt.Errorf("join GPUs: rank %d has come before", r)
		}
		x.came[r] = true
	}
	if len(x.came) == x.total {
		close(x.all)
	}
	return nil
}
