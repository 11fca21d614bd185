package bundle

import (
	"fmt"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Parts allows slices that do not cover their tensors: the bundle is one of several that Merge will combine.
func (w *Writer) Parts() { w.parts = true }

// Merge combines several bundles into one. It renames their data files, writes a new index and removes the old ones. The parts of a
// partitioned tensor may be in different bundles.
func Merge(fsys atomicfile.FS, prefixes []string, to string) error {
	m := &merging{to: &Writer{fs: fsys, prefix: to, entries: map[string]*entry{}}}
	for _, prefix := range prefixes {
		if err := m.read(prefix); err != nil {
			return err
		}
	}
	if err := m.to.checkSlices(); err != nil {
		return err
	}
	for i, from := range m.from {
		if err := fsys.Rename(from, DataPath(to, i, len(m.from))); err != nil {
			return err
		}
	}
	m.to.shards = make([]*shard, len(m.from))
	if err := firstError(m.to.syncDir, m.to.commitIndex, m.to.syncDir); err != nil {
		return err
	}
	for _, prefix := range prefixes {
		if err := fsys.Remove(IndexPath(prefix)); err != nil {
			return err
		}
		_ = fsys.Remove(filepath.Dir(prefix)) // if it is empty: each of TensorFlow's parts has its own folder
	}
	return nil
}

// merging is a merge in progress.
type merging struct {
	to   *Writer
	from []string // data files, in their new order
}

// read adds the entries and the data files of a bundle.
func (m *merging) read(prefix string) error {
	r, err := Open(m.to.fs, prefix)
	if err != nil {
		return err
	}
	defer r.Close()
	numbers := map[int]int{}
	for i := range r.shards {
		if f := r.files[i]; f != nil {
			numbers[i] = len(m.from)
			m.from = append(m.from, f.path)
		}
	}
	for key, e := range r.entries {
		e.shard = numbers[e.shard]
		if len(e.slices) > 0 {
			e.shard = 0
		}
		if err := m.add(key, e); err != nil {
			return err
		}
	}
	return nil
}

func (m *merging) add(key string, e *entry) error {
	old := m.to.entries[key]
	switch {
	case old == nil:
		m.to.entries[key] = e
	case len(old.slices) == 0 || len(e.slices) == 0 || old.dtype != e.dtype:
		return fmt.Errorf("tensor %q is in two of the bundles", key)
	default:
		old.slices = append(old.slices, e.slices...)
	}
	return nil
}
