package checkpoint

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Store keeps the checkpoints of one training run. Saver implements it on disk;
// NewMemory returns one for tests.
type Store interface {
	// Save writes a checkpoint, then deletes those that need not be kept. It
	// returns the new checkpoint's prefix.
	Save(ctx context.Context, s Snapshot) (prefix string, err error)
	// OpenLatest opens the newest checkpoint that passes verification. The error
	// wraps ErrNone, or is an *UnloadableError.
	OpenLatest(ctx context.Context) (*Reader, error)
	// Open opens the checkpoint with the given prefix.
	Open(prefix string) (*Reader, error)
	// All lists all checkpoints, oldest first.
	All() ([]Entry, error)
}

var _ Store = (*Saver)(nil)

// NewMemory returns a Store that keeps its files in memory, in the same formats.
func NewMemory(o Options) (*Saver, error) {
	const dir = "/memory"
	o.FS = atomicfile.NewMem(dir)
	return NewSaver(dir, o)
}
