package checkpoint

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// filesOf returns the existing files of a checkpoint, the index first.
func (d directory) filesOf(prefix string) []string {
	dir, base := filepath.Split(prefix)
	names, err := d.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil
	}
	var files []string
	for _, n := range names {
		switch rest, ok := strings.CutPrefix(n, base); {
		case !ok || strings.HasSuffix(n, brokenSuffix) || atomicfile.IsTemp(n):
		case rest == indexSuffix:
			files = slices.Insert(files, 0, filepath.Join(dir, n))
		case rest == ".meta" || strings.HasPrefix(rest, ".data-"):
			files = append(files, filepath.Join(dir, n))
		}
	}
	return files
}

// clean removes the remains of an interrupted save or deletion by this
// directory's writer: temporary files, data without an index, an unlisted index without data.
func (s *Saver) clean() error {
	names, err := s.fs.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, n := range names {
		if s.leftover(n) {
			if err := s.fs.Remove(filepath.Join(s.path, n)); err != nil {
				return err
			}
			s.log.Info("removed what an interrupted save left", "path", filepath.Join(s.path, n))
		}
	}
	return nil
}

func (s *Saver) leftover(name string) bool {
	if atomicfile.IsTemp(name) {
		return strings.HasPrefix(name, Base+"-") || strings.HasPrefix(name, StateFile+".") || strings.HasPrefix(name, RunStateFile+".")
	}
	path := filepath.Join(s.path, name)
	if m := dataName.FindStringSubmatch(name); m != nil {
		prefix := filepath.Join(s.path, m[1])
		if !s.exists(prefix + indexSuffix) {
			return true
		}
		r, err := s.open(prefix)
		if err != nil {
			return false
		}
		defer r.Close()
		return strconv.Itoa(r.b.Shards()) != strings.TrimLeft(m[2], "0")
	}
	if indexName.MatchString(name) {
		prefix := strings.TrimSuffix(path, indexSuffix)
		listed := slices.ContainsFunc(s.kept, func(e Entry) bool { return e.Prefix == prefix })
		return !listed && len(s.filesOf(prefix)) == 1
	}
	return false
}

// removeStaleData removes the data files of the checkpoint that prefix has replaced.
func (s *Saver) removeStaleData(prefix string, shards int) error {
	for _, f := range s.filesOf(prefix) {
		m := dataName.FindStringSubmatch(filepath.Base(f))
		if m == nil || strings.TrimLeft(m[2], "0") == strconv.Itoa(shards) {
			continue
		}
		if err := s.fs.Remove(f); err != nil {
			return err
		}
		if err := fpDataDeleted.Here(); err != nil {
			return err
		}
	}
	return nil
}
