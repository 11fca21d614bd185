package eager

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// saveOps write checkpoints, and read checkpoints of version 1.
var saveOps = map[*ops.Def]maker{
	ops.Save:               plain(saveV1(2)),
	ops.SaveSlices:         plain(saveV1(3)),
	ops.Restore:            restoreV1,
	ops.RestoreSlice:       restoreV1,
	ops.SaveV2:             plain(save),
	ops.MergeV2Checkpoints: mergeCheckpoints,
	ops.ShardedFilename:    plain(shardedFilename),
	ops.ShardedFilespec:    plain(shardedFilespec),
}

// files returns the file system to write a path on.
func (c call) files(path string) (atomicfile.FS, error) {
	if c.env == nil || c.env.Files == nil {
		return nil, fmt.Errorf("file %q: no files may be written here", path)
	}
	return c.env.Files(path)
}

// filePath returns an input that is a file name or prefix. It may be a URI.
func filePath(name string, t *tensor.Tensor) (string, error) {
	b, err := text(name, t)
	_, p := localPath(string(b))
	return p, err
}

// localPath splits a URI "file://host/path" as TensorFlow does, which reads the path on this machine. Anything else
// is a path.
func localPath(uri string) (scheme, path string) {
	rest, ok := strings.CutPrefix(uri, "file://")
	if !ok {
		return "", uri
	}
	at := len(uri) - len(rest[max(strings.IndexByte(rest, '/'), 0):])
	return uri[:at], uri[at:]
}

// save writes tensors, or slices of partitioned ones, under their names.
func save(c call) error {
	if len(c.in) < 3 {
		return fmt.Errorf("expected a prefix, names and slices, got %d inputs", len(c.in))
	}
	prefix, err := filePath("prefix", c.t(0))
	if err != nil {
		return err
	}
	names, specs := c.t(1).Strings, c.t(2).Strings
	if n := len(c.in) - 3; len(names) != n || len(specs) != n {
		return fmt.Errorf("expected %d names and slices, got %d and %d", n, len(names), len(specs))
	}
	fsys, err := c.files(prefix)
	if err != nil {
		return err
	}
	if err := fsys.Mkdir(filepath.Dir(prefix)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	w, err := bundle.NewWriter(fsys, prefix, 1)
	if err != nil {
		return err
	}
	defer w.Discard()
	w.Parts()
	for i, name := range names {
		if err := saveOne(w, string(name), string(specs[i]), c.t(3+i)); err != nil {
			return err
		}
	}
	return w.Finish()
}

// checkpointWriter writes the tensors of a checkpoint.
type checkpointWriter interface {
	Add(name string, t *tensor.Tensor) error
	AddSlice(name string, full []int, s bundle.Slice, part *tensor.Tensor) error
}

func saveOne(w checkpointWriter, name, spec string, t *tensor.Tensor) error {
	if spec == "" {
		return w.Add(name, t)
	}
	words := strings.Fields(spec)
	if len(words) != len(t.Shape)+1 {
		return fmt.Errorf("tensor %q, slice %q: expected a size for each dimension of %v, then a slice", name, spec, t.Shape)
	}
	parts := strings.Split(words[len(t.Shape)], ":")
	full, slice := make([]int, len(t.Shape)), make(bundle.Slice, len(t.Shape))
	if len(parts) != len(full) {
		return fmt.Errorf("tensor %q, slice %q: expected %d dimensions", name, spec, len(full))
	}
	for k, p := range parts {
		size, err := strconv.Atoi(words[k])
		start, length, whole := 0, size, p == "-"
		if !whole {
			a, b, _ := strings.Cut(p, ",")
			var err1, err2 error
			start, err1 = strconv.Atoi(a)
			length, err2 = strconv.Atoi(b)
			err = errors.Join(err, err1, err2)
		}
		if err != nil || size < 0 || start < 0 || length < 0 || start > size || length > size-start {
			return fmt.Errorf("tensor %q, slice %q: dimension %d is not in the shape", name, spec, k)
		}
		full[k] = size
		slice[k] = bundle.Extent{Start: start, Length: length}
		if whole || length == size {
			slice[k] = bundle.Extent{Length: -1}
		}
	}
	return w.AddSlice(name, full, slice, t)
}

func mergeCheckpoints(s *site) (kernel, error) {
	if s.boolean("allow_missing_files", false) {
		return nil, fmt.Errorf("allow_missing_files %w", ErrUnsupported)
	}
	return func(c call) error {
		to, err := filePath("destination_prefix", c.t(1))
		if err != nil {
			return err
		}
		if err := want("checkpoint_prefixes", c.t(0), tensor.String); err != nil {
			return err
		}
		fsys, err := c.files(to)
		if err != nil {
			return err
		}
		var prefixes []string
		for _, p := range c.t(0).Strings {
			_, prefix := localPath(string(p))
			if slices.Contains(prefixes, prefix) {
				return fmt.Errorf("prefix %q is there twice", clip(p))
			}
			prefixes = append(prefixes, prefix)
		}
		return bundle.Merge(fsys, prefixes, to)
	}, nil
}

func shardedFilename(c call) error {
	base, err := text("basename", c.t(0))
	if err != nil {
		return err
	}
	shard, err := integer("shard", c.t(1))
	if err != nil {
		return err
	}
	n, err := integer("num_shards", c.t(2))
	if err != nil {
		return err
	}
	c.set(0, textScalar(fmt.Sprintf("%s-%05d-of-%05d", base, shard, n)))
	return nil
}

func shardedFilespec(c call) error {
	base, err := text("basename", c.t(0))
	if err != nil {
		return err
	}
	n, err := integer("num_shards", c.t(1))
	if err != nil {
		return err
	}
	c.set(0, textScalar(fmt.Sprintf("%s-?????-of-%05d", base, n)))
	return nil
}

// textScalar returns a string as a tensor.
func textScalar(s string) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.String, Shape: []int{}, Strings: [][]byte{[]byte(s)}}
}
