package bundle

import (
	"fmt"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Parts says that slices need not cover their tensors, as the bundle is one of several that Merge makes one.
func (w *Writer) Parts() { w.parts = true }

// Merge makes one bundle of several: of their data files, which get new names, and a new index. The parts of a
// partitioned tensor may be in different bundles. The old indexes are removed.
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
		_ = fsys.Remove(filepath.Dir(prefix)) // where it is empty: TensorFlow's parts are in a folder of their own
	}
	return nil
}

// merging is a merge under way.
type merging struct {
	to   *Writer
	from []string // data files, in the order of their new numbers
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
