package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/tensor"
)

// The points of a save, besides package bundle's, at which tests simulate a
// crash.
var (
	fpStart         = failpoint.New("checkpoint/start")
	fpUnusable      = failpoint.New("checkpoint/unusable-removed")
	fpStateWritten  = failpoint.New("checkpoint/state-written")
	fpStateSynced   = failpoint.New("checkpoint/state-synced")
	fpStateRenamed  = failpoint.New("checkpoint/state-renamed")
	fpStateDurable  = failpoint.New("checkpoint/state-durable")
	fpIndexDeleted  = failpoint.New("checkpoint/index-deleted")
	fpDataDeleted   = failpoint.New("checkpoint/data-deleted")
	fpDone          = failpoint.New("checkpoint/done")
	fpBrokenRenamed = failpoint.New("checkpoint/broken-renamed")
)

// Options configure a Saver. The zero value keeps every checkpoint.
type Options struct {
	// MaxToKeep is the number of newest checkpoints to keep; 0 keeps all.
	MaxToKeep int
	// KeepEveryNHours, if above 0, preserves one checkpoint per such time span
	// from deletion. It leaves the list but stays on disk.
	KeepEveryNHours float64
	// Clock gives the times of the list and of KeepEveryNHours; nil is time.Now.
	Clock func() time.Time
	// FS is the file system; nil is the operating system's.
	FS atomicfile.FS
	// Log receives warnings; nil is slog.Default().
	Log *slog.Logger
}

// Saver is the only writer of a directory. It is safe for concurrent use.
type Saver struct {
	directory
	opts          Options
	mu            sync.Mutex
	kept          []Entry // the list, oldest first
	lastPreserved time.Time
	deleting      []string // prefixes that left the list and are to be deleted
	spare         spared
}

// NewSaver opens a directory for writing, and creates it if necessary. It takes
// over the list of an earlier run and removes the remains of an interrupted save.
func NewSaver(dir string, o Options) (*Saver, error) {
	if o.MaxToKeep < 0 || o.KeepEveryNHours < 0 {
		return nil, fmt.Errorf("checkpoints to keep: expected values >= 0, got %d, every %v hours", o.MaxToKeep, o.KeepEveryNHours)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.FS == nil {
		o.FS = atomicfile.OS{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Saver{directory: directory{fs: o.FS, path: dir, log: o.Log}, opts: o}
	if err := atomicfile.MkdirAll(o.FS, dir); err != nil {
		return nil, err
	}
	if err := s.adoptExisting(); err != nil {
		return nil, err
	}
	return s, s.clean()
}

// adoptExisting reads the list of an earlier run.
func (s *Saver) adoptExisting() error {
	s.lastPreserved = s.opts.Clock()
	st, err := s.readState()
	if err != nil {
		return err
	}
	s.kept, err = s.all()
	if err != nil {
		return err
	}
	for i := range s.kept {
		if s.kept[i].Time.IsZero() {
			s.kept[i].Time = s.lastPreserved
		}
	}
	if st == nil {
		// It is unknown which of the older ones were preserved on purpose: keep them.
		if n := len(s.kept) - s.opts.MaxToKeep; s.opts.MaxToKeep > 0 && n > 0 {
			s.kept = s.kept[n:]
		}
		return nil
	}
	if t := fromSeconds(st.lastPreserved); st.lastPreserved > 0 && t.Before(s.lastPreserved) {
		s.lastPreserved = t
	}
	// Checkpoints that are not on the list were preserved on purpose, unless an
	// interrupted deletion left them.
	listed := []string{s.abs(st.latest)}
	for _, p := range st.all {
		listed = append(listed, s.abs(p))
	}
	s.kept = slices.DeleteFunc(s.kept, func(e Entry) bool { return !slices.Contains(listed, e.Prefix) })
	own := func(p string) bool { return !slices.Contains(listed, p) && filepath.Dir(p) == filepath.Clean(s.path) }
	for _, p := range st.deleting {
		if p := s.abs(p); own(p) {
			s.deleting = append(s.deleting, p)
		}
	}
	if p := s.abs(st.spared); st.spared != "" && own(p) {
		s.spare = spared{prefix: p, unlisted: true}
	}
	return s.deleteExpired()
}

// deleteExpired deletes the checkpoints in deleting.
func (s *Saver) deleteExpired() error {
	for len(s.deleting) > 0 {
		if err := s.remove(s.deleting[0]); err != nil {
			return err
		}
		s.deleting = s.deleting[1:]
	}
	return nil
}

// Open implements Store.
func (s *Saver) Open(prefix string) (*Reader, error) {
	r, err := s.open(prefix)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", prefix, err)
	}
	return r, nil
}

// All implements Store.
func (s *Saver) All() ([]Entry, error) { return s.all() }

// OpenLatest implements Store. If it has to skip damaged checkpoints, it
// renames their files to *.broken, with a warning.
func (s *Saver) OpenLatest(ctx context.Context) (*Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, failed, err := s.openLatest(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range failed {
		s.log.Warn("a damaged checkpoint is set aside", "prefix", a.Prefix, "error", a.Err, "using", r.Prefix(), "renamed_to", "*"+brokenSuffix)
	}
	if len(failed) == 0 {
		return r, nil
	}
	if err := s.quarantine(failed, r.Prefix()); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// quarantine renames the files of damaged checkpoints and takes them off the list,
// which then has at least the good one.
func (s *Saver) quarantine(failed []Attempt, good string) error {
	for _, a := range failed {
		for _, f := range s.filesOf(a.Prefix) {
			if err := s.fs.Rename(f, f+brokenSuffix); err != nil {
				return fmt.Errorf("set aside the damaged checkpoint %s: %w", a.Prefix, err)
			}
		}
		s.kept = without(s.kept, a.Prefix)
	}
	if err := fpBrokenRenamed.Here(); err != nil {
		return err
	}
	if len(s.kept) == 0 {
		step, _ := StepOf(good)
		s.kept = []Entry{{Prefix: good, Step: step, Time: s.opts.Clock()}}
	}
	return s.writeState()
}

// Save implements Store. Saving a step again with the same tensors changes
// only the list; with other tensors it replaces the checkpoint.
func (s *Saver) Save(ctx context.Context, snap Snapshot) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := filepath.Join(s.path, fmt.Sprintf("%s-%d", Base, snap.Step))
	if err := s.save(ctx, prefix, snap); err != nil {
		return "", saveError(prefix, err)
	}
	return prefix, nil
}

func (s *Saver) save(ctx context.Context, prefix string, snap Snapshot) error {
	tensors, err := snap.complete()
	if err != nil {
		return err
	}
	if err := fpStart.Here(); err != nil {
		return err
	}
	shards, same, err := s.prepare(prefix, tensors, snap.Parts != nil)
	if err != nil {
		return err
	}
	if !same {
		if err := s.write(ctx, prefix, shards, tensors, snap.Parts); err != nil {
			return err
		}
	}
	if err := s.list(Entry{Prefix: prefix, Step: snap.Step, Time: s.opts.Clock()}); err != nil {
		return err
	}
	if err := s.deleteExpired(); err != nil {
		return err
	}
	if err := s.removeStaleData(prefix, shards); err != nil {
		return err
	}
	return fpDone.Here()
}

// list appends a new checkpoint to the list and decides which ones to delete.
// If the list cannot be written, it does not change.
func (s *Saver) list(e Entry) error {
	kept, lastPreserved, deleting, spare := s.kept, s.lastPreserved, s.deleting, s.spare
	s.kept = append(without(kept, e.Prefix), e)
	if e.Prefix == spare.prefix {
		s.spare.unlisted = false
	}
	s.deleting = slices.DeleteFunc(slices.Clone(deleting), func(p string) bool { return p == e.Prefix })
	s.expire()
	err := s.writeState()
	if err != nil {
		s.kept, s.lastPreserved, s.deleting, s.spare = kept, lastPreserved, deleting, spare
	}
	return err
}

func without(list []Entry, prefix string) []Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e.Prefix == prefix })
}

// prepare looks at the existing files of prefix. It returns the number of
// data files to write. To replace a loadable checkpoint it chooses a number
// other than its own, so that the files' names differ and the rename of the
// index alone switches from the old to the new checkpoint.
func (s *Saver) prepare(prefix string, tensors map[string]*tensor.Tensor, parts bool) (shards int, same bool, err error) {
	if !s.exists(prefix + indexSuffix) {
		return 1, false, nil
	}
	r, err := s.openVerified(prefix)
	if err == nil {
		defer r.Close()
		shards = r.b.Shards()
		if !parts && r.holds(tensors) {
			return shards, true, nil
		}
		return 1 + shards%2, false, nil
	}
	if !damaged(err) {
		return 0, false, err
	}
	if err := s.remove(prefix); err != nil {
		return 0, false, err
	}
	return 1, false, fpUnusable.Here()
}

func (s *Saver) write(ctx context.Context, prefix string, shards int, tensors map[string]*tensor.Tensor, parts iter.Seq2[Part, error]) error {
	w, err := bundle.NewWriter(s.fs, prefix, shards)
	if err != nil {
		return err
	}
	defer w.Discard()
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.Add(name, tensors[name]); err != nil {
			return err
		}
	}
	if parts == nil {
		return w.Finish()
	}
	for p, err := range parts {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = addPart(w, p)
		}
		if err != nil {
			return err
		}
	}
	return w.Finish()
}

func addPart(w *bundle.Writer, p Part) error {
	if p.Tensor == nil {
		return fmt.Errorf("tensor %q: a part has no value", p.Name)
	}
	if p.Slice == nil {
		return w.Add(p.Name, p.Tensor)
	}
	return w.AddSlice(p.Name, p.Full, p.Slice, p.Tensor)
}

// relative returns a prefix as the list stores it.
func (s *Saver) relative(prefix string) string {
	if rel, err := filepath.Rel(s.path, prefix); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return prefix
}

// writeState durably replaces the list.
func (s *Saver) writeState() error {
	st := state{lastPreserved: toSeconds(s.lastPreserved)}
	if s.spare.unlisted {
		st.spared = s.relative(s.spare.prefix)
	}
	for _, e := range s.kept {
		st.latest = s.relative(e.Prefix)
		st.all = append(st.all, st.latest)
		st.times = append(st.times, toSeconds(e.Time))
	}
	for _, p := range s.deleting {
		st.deleting = append(st.deleting, s.relative(p))
	}
	f, err := atomicfile.Create(s.fs, filepath.Join(s.path, StateFile))
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(st.format()); err != nil {
		return err
	}
	for _, step := range []func() error{
		fpStateWritten.Here, f.Sync, fpStateSynced.Here, f.Commit, fpStateRenamed.Here,
		func() error { return atomicfile.SyncDir(s.fs, s.path) }, fpStateDurable.Here,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// expire takes checkpoints off the list, to delete or to preserve them
// (the rule of TensorFlow's CheckpointManager).
func (s *Saver) expire() {
	if s.opts.MaxToKeep == 0 {
		return
	}
	span := time.Duration(s.opts.KeepEveryNHours * float64(time.Hour))
	for len(s.kept) > s.opts.MaxToKeep {
		e := s.kept[0]
		s.kept = s.kept[1:]
		if span > 0 && e.Time.Sub(s.lastPreserved) >= span {
			s.lastPreserved = e.Time
			continue
		}
		if e.Prefix == s.spare.prefix {
			s.spare.unlisted = true
			continue
		}
		s.deleting = append(s.deleting, e.Prefix)
	}
}

// remove deletes a checkpoint, the index first: data without an index is
// recognised as a leftover.
func (s *Saver) remove(prefix string) error {
	for i, f := range s.filesOf(prefix) {
		if err := s.fs.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		point := fpDataDeleted
		if i == 0 {
			point = fpIndexDeleted
		}
		if err := point.Here(); err != nil {
			return err
		}
	}
	return nil
}
