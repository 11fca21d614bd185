package peers

import (
	"context"
	"errors"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Network makes groups of the GPUs of several processes. It is safe for concurrent use.
type Network interface {
	// Version returns the name and version of the implementation. Processes with different versions cannot form a group.
	// Its error says why the GPU of that context cannot be in a group.
	Version(c driver.Context) (string, error)
	// NewID returns the ID of a new group, whose members meet at this process.
	NewID() ([]byte, error)
	// Join makes this process's ranks of a group, one on each GPU. It returns when all ranks of all processes have joined,
	// or ctx has ended.
	Join(ctx context.Context, contexts []driver.Context, at Place) (Group, error)
}

// Place says which ranks of a group belong to this process: First and the ranks after it.
type Place struct {
	ID           []byte // from Network.NewID
	First, Total int
}

// Group is GPUs of several processes that sum together. One goroutine at a time may use it.
type Group interface {
	// Reduce is Reducer.AllReduce over the ranks of all processes. parts are the parts of this process's ranks. It may return before
	// the sum is done, and gives up if ctx ends. After an error the group is unusable.
	Reduce(ctx context.Context, parts []Part) error
	// Check returns the error with which ranks have failed, nil if all are well.
	Check() error
	// Abort ends the group and its work in streams at once.
	Abort() error
	// Close ends the group in an orderly way. All processes should call it; it waits for them, but not long.
	Close() error
}

// ErrBroken means that a call of the group has failed before, or that the group has ended.
var ErrBroken = errors.New("the group of GPUs has failed or ended before")
