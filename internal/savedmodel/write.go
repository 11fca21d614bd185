package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/atomicfile"
	"github.com/goestimator/goestimator/internal/bundle"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Writing is what a SavedModel holds.
type Writing struct {
	MetaGraphs []*pb.MetaGraphDef
	Variables  func(w *bundle.Writer) error // adds the values; nil: the model has no variables
	Assets     map[string][]byte            // by file name, below assets/
	Extra      map[string][]byte            // below assets.extra/
	Text       bool                         // saved_model.pbtxt instead of .pb
}

// Write publishes a SavedModel as <base>/<version>: all files are made in a
// temporary directory beside it, made durable, and the directory renamed. The
// error wraps fs.ErrExist where the version is there already. After an error
// nothing is left of the model.
func Write(fsys atomicfile.FS, base string, version int64, w Writing) (dir string, err error) {
	name := strconv.FormatInt(version, 10)
	dir = filepath.Join(base, name)
	if err := w.check(version); err != nil {
		return "", fmt.Errorf("saved model %s: %w", dir, err)
	}
	if err := publish(fsys, base, name, w); err != nil {
		return "", fmt.Errorf("saved model %s: %w", dir, err)
	}
	return dir, nil
}

func (w Writing) check(version int64) error {
	if version <= 0 || len(w.MetaGraphs) == 0 {
		return fmt.Errorf("version %d of %d graphs: expected a positive version and a graph", version, len(w.MetaGraphs))
	}
	for _, files := range []map[string][]byte{w.Assets, w.Extra} {
		for name := range files {
			if !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
				return fmt.Errorf("file %q: expected a name below the model's directory", name)
			}
		}
	}
	return nil
}

func publish(fsys atomicfile.FS, base, name string, w Writing) (err error) {
	if err := fsys.MkdirAll(base); err != nil {
		return err
	}
	siblings, err := fsys.ReadDir(base)
	if err != nil {
		return err
	}
	if slices.Contains(siblings, name) {
		return fs.ErrExist
	}
	// Servers take children whose names are numbers for versions; this is none, and
	// no other export's, whether that runs or was killed.
	temp := filepath.Join(base, fmt.Sprintf("temp-%s-%d-%d", name, os.Getpid(), time.Now().UnixNano()))
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(fsys, temp))
		}
	}()
	if err := fill(fsys, temp, w); err != nil {
		return err
	}
	if err := fsys.Rename(temp, filepath.Join(base, name)); err != nil {
		return err
	}
	return atomicfile.SyncDir(fsys, base)
}

// fill makes the files of the directory, durably.
func fill(fsys atomicfile.FS, dir string, w Writing) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	if w.Variables != nil {
		if err := writeVariables(fsys, dir, w.Variables); err != nil {
			return err
		}
	}
	for sub, files := range map[string]map[string][]byte{AssetsDir: w.Assets, ExtraDir: w.Extra} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := writeFile(fsys, filepath.Join(dir, sub, name), files[name]); err != nil {
				return err
			}
		}
	}
	m := &pb.SavedModel{SavedModelSchemaVersion: schemaVersion, MetaGraphs: w.MetaGraphs}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	if len(data) > math.MaxInt32 {
		return fmt.Errorf("the graphs take %d bytes: expected at most 2 GiB, protocol buffers' limit", len(data))
	}
	file := BinaryFile
	if w.Text {
		file = TextFile
		if data, err = (prototext.MarshalOptions{Multiline: true}).Marshal(m); err != nil {
			return err
		}
	}
	return writeFile(fsys, filepath.Join(dir, file), data)
}

func writeVariables(fsys atomicfile.FS, dir string, add func(w *bundle.Writer) error) error {
	if err := fsys.MkdirAll(filepath.Join(dir, VariablesDir)); err != nil {
		return err
	}
	b, err := bundle.NewWriter(fsys, filepath.Join(dir, VariablesPrefix), 1)
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := add(b); err != nil {
		return err
	}
	return b.Finish()
}

func writeFile(fsys atomicfile.FS, path string, data []byte) error {
	if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteFile(fsys, path, data)
}

// removeAll removes a directory and what is below it.
func removeAll(fsys atomicfile.FS, path string) error {
	names, err := fsys.ReadDir(path)
	if err == nil {
		for _, n := range names {
			if err := removeAll(fsys, filepath.Join(path, n)); err != nil {
				return err
			}
		}
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
