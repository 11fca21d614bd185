package checkpoint

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Store keeps the checkpoints of one training run. A Saver is one on disk;
// NewMemory gives one for tests.
type Store interface {
	// Save writes a checkpoint, then deletes the ones that need not be kept. It
	// returns the new one's prefix.
	Save(ctx context.Context, s Snapshot) (prefix string, err error)
	// OpenLatest opens the newest checkpoint that passes verification. The error
	// wraps ErrNone, or is an *UnloadableError.
	OpenLatest(ctx context.Context) (*Reader, error)
	// Open opens a given one.
	Open(prefix string) (*Reader, error)
	// All lists what there is, oldest first.
	All() ([]Entry, error)
}

var _ Store = (*Saver)(nil)

// NewMemory returns a Store that keeps its files in memory, in the same formats.
func NewMemory(o Options) (*Saver, error) {
	const dir = "/memory"
	o.FS = atomicfile.NewMem(dir)
	return NewSaver(dir, o)
}
