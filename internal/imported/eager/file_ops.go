package eager

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// fileOps read, write and find whole files.
var fileOps = map[*ops.Def]maker{
	ops.ReadFile:             plain(readFileOp),
	ops.WriteFile:            plain(writeFileOp),
	ops.MatchingFiles:        plain(matchingFiles),
	ops.MatchingFilesDataset: makeDataset(always(matchingDataset)),
}

// readFile returns the content of a file that ops may read.
func (c call) readFile(path string) ([]byte, error) {
	f, err := c.open()(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if err := c.room(int(size), 1); err != nil {
		return nil, fmt.Errorf("file %q: %w", path, err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("file %q: %w", path, err)
	}
	return b, nil
}

func readFileOp(c call) error {
	name, err := text("filename", c.t(0))
	if err != nil {
		return err
	}
	b, err := c.readFile(string(name))
	if err != nil {
		return err
	}
	c.set(0, &tensor.Tensor{DType: tensor.String, Shape: []int{}, Strings: [][]byte{b}})
	return nil
}

func writeFileOp(c call) error {
	name, err := filePath("filename", c.t(0))
	if err != nil {
		return err
	}
	content, err := text("contents", c.t(1))
	if err != nil {
		return err
	}
	fsys, err := c.files(name)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(fsys, filepath.Dir(name)); err != nil {
		return err
	}
	return atomicfile.WriteFile(fsys, name, content)
}

func matchingFiles(c call) error {
	names, err := c.matches(c.t(0))
	if err != nil {
		return err
	}
	out, err := c.output(0, tensor.String, len(names))
	for i := range names {
		if err != nil {
			return err
		}
		out.Strings[i] = []byte(names[i])
	}
	return err
}

func matchingDataset(in *inputs) (dataset.Dataset, error) {
	names, err := in.c.matches(in.tensor("patterns"))
	if err != nil {
		return nil, err
	}
	return dataset.Rows(int64(len(names)), func(i int64) (dataset.Element, error) {
		return dataset.Element{{T: textScalar(names[i])}}, nil
	}), nil
}

// matches returns the files that patterns match, sorted.
func (c call) matches(patterns *tensor.Tensor) ([]string, error) {
	if patterns.DType != tensor.String || len(patterns.Shape) > 1 {
		return nil, fmt.Errorf("Input patterns tensor must be scalar or vector, but had shape: %v", patterns.Shape)
	}
	var all []string
	for _, p := range patterns.Strings {
		scheme, pattern := localPath(string(p))
		found, err := c.glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, scheme+name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// maxMatches bounds the files that a pattern matches.
const maxMatches = 1 << 20

// glob returns the files that a pattern matches, one path element after the other.
func (c call) glob(pattern string) ([]string, error) {
	fixed := pattern
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		fixed = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	}
	fsys, err := c.files(filepath.Clean(fixed))
	if err != nil {
		return nil, err
	}
	if fixed == pattern {
		if f, err := fsys.OpenFile(pattern, os.O_RDONLY, 0); err == nil {
			return []string{pattern}, f.Close()
		}
		return nil, nil
	}
	found := []string{strings.TrimSuffix(fixed, "/")}
	for _, part := range strings.Split(pattern[len(fixed):], "/") {
		var next []string
		for _, dir := range found {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
			names, err := fsys.ReadDir(dir)
			if err != nil {
				continue // not a directory
			}
			for _, name := range names {
				ok, err := path.Match(part, name)
				if err != nil {
					return nil, fmt.Errorf("pattern %q: %w", clip([]byte(pattern)), err)
				}
				if ok {
					next = append(next, dir+"/"+name)
				}
			}
			if len(next) > maxMatches {
				return nil, fmt.Errorf("pattern %q: %w: more than %d files", clip([]byte(pattern)), ErrLimit, maxMatches)
			}
		}
		found = next
	}
	return found, nil
}
