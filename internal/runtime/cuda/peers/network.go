package peers

import (
	"context"
	"errors"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Network makes groups of GPUs of several processes. It is safe for concurrent use.
type Network interface {
	// Version names what sums, and its version: processes whose versions differ make no group. Its error tells why the GPU
	// of that context can be in none.
	Version(c driver.Context) (string, error)
	// NewID names a new group, whose members meet at this process.
	NewID() ([]byte, error)
	// Join makes this process's ranks of a group, one on each GPU. It returns when all ranks of all processes have come, or
	// ctx has ended.
	Join(ctx context.Context, contexts []driver.Context, at Place) (Group, error)
}

// Place says which ranks of a group are of this process: First and those after it.
type Place struct {
	ID           []byte // of Network.NewID
	First, Total int
}

// Group is GPUs of several processes that sum together. It is used by one goroutine at a time.
type Group interface {
	// Reduce is Reducer.AllReduce over the ranks of all processes; parts are the parts of this process's ranks. It may return before the
	// sum is done, and gives up where ctx ends. After an error the group is of no more use.
	Reduce(ctx context.Context, parts []Part) error
	// Check returns what ranks have failed with since, nil where all are well.
	Check() error
	// Abort ends the group at once, and what it has in streams.
	Abort() error
	// Close ends the group in good order, in which all processes should do so. It waits for them, but not long.
	Close() error
}

// ErrBroken means that a call of a group has failed, or that the group has ended.
var ErrBroken = errors.New("the group of GPUs has failed or ended before")
