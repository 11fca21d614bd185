package estimator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/goestimator/goestimator/internal/distribute/saved"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// WithCheckpointExtra stores a copy of value under key in every checkpoint that training writes, for example the state
// of an adapted preprocessing. CheckpointExtra reads it.
func WithCheckpointExtra(key string, value []byte) Option {
	return func(e *Estimator) error {
		if key == "" {
			return errors.New("the key of what checkpoints keep must not be empty")
		}
		if e.extras == nil {
			e.extras = map[string][]byte{}
		}
		e.extras[key] = slices.Clone(value)
		return nil
	}
}

// CheckpointExtra reads a value that WithCheckpointExtra stored. path is a checkpoint prefix, or a folder, whose newest
// checkpoint is read. ok is false if the checkpoint does not have the key. If path names no checkpoint, the error wraps
// ErrNoCheckpoint.
func CheckpointExtra(ctx context.Context, path, key string) (value []byte, ok bool, err error) {
	r, err := openCheckpoint(ctx, path)
	if err != nil {
		return nil, false, err
	}
	value, ok, err = saved.String(r, extraKey+key)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, false, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return value, ok, nil
}

// openCheckpoint opens the checkpoint of a prefix, or the newest of a folder.
func openCheckpoint(ctx context.Context, path string) (*checkpoint.Reader, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		r, err := checkpoint.OpenLatest(ctx, path)
		if !errors.Is(err, checkpoint.ErrNone) {
			return r, err
		}
	}
	if _, absent := os.Stat(path + ".index"); absent != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoCheckpoint, path)
	}
	return checkpoint.Open(path)
}
