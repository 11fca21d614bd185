package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Entry is one checkpoint of a directory.
type Entry struct {
	Prefix string
	Step   int64
	Time   time.Time // when it was saved; zero if unknown
}

// Open opens the checkpoint with a prefix such as "run/model.ckpt-100". Its
// tensors are checked when they are read; Verify checks all.
func Open(prefix string) (*Reader, error) {
	r, err := osDirectory(filepath.Dir(prefix)).open(prefix)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", prefix, err)
	}
	return r, nil
}

// OpenLatest opens the newest checkpoint of a directory that passes
// verification. It does not change the directory, and skips damaged checkpoints with a
// warning. The error wraps ErrNone, or is an *UnloadableError.
func OpenLatest(ctx context.Context, dir string) (*Reader, error) {
	d := osDirectory(dir)
	r, failed, err := d.openLatest(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range failed {
		d.log.Warn("skipped a damaged checkpoint", "prefix", a.Prefix, "error", a.Err, "using", r.Prefix())
	}
	return r, nil
}

// LatestPrefix returns the prefix of a directory's newest checkpoint, from its
// list and file names only. The error wraps ErrNone if there is none.
func LatestPrefix(dir string) (string, error) { return osDirectory(dir).latestPrefix() }

func (d directory) latestPrefix() (string, error) {
	list, err := d.candidates()
	if err != nil {
		return "", err
	}
	for _, p := range list {
		if d.exists(p + indexSuffix) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w in %s", ErrNone, d.path)
}

// All returns the checkpoints of a directory from the oldest to the newest, including
// those that are no longer on the list (kept every n hours).
func All(dir string) ([]Entry, error) { return osDirectory(dir).all() }

func (d directory) all() ([]Entry, error) {
	list, err := d.candidates()
	if err != nil {
		return nil, err
	}
	s, err := d.readState()
	if err != nil {
		return nil, err
	}
	times := map[string]time.Time{}
	if s != nil && len(s.times) == len(s.all) {
		for i, p := range s.all {
			times[d.abs(p)] = fromSeconds(s.times[i])
		}
	}
	var entries []Entry
	for _, p := range slices.Backward(list) {
		if d.exists(p + indexSuffix) {
			step, _ := StepOf(p)
			entries = append(entries, Entry{Prefix: p, Step: step, Time: times[p]})
		}
	}
	return entries, nil
}

func fromSeconds(s float64) time.Time { return time.UnixMicro(int64(s * 1e6)) }

func toSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
