package savedmodel

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// Writing is the content of a SavedModel.
type Writing struct {
	MetaGraphs []*pb.MetaGraphDef
	Variables  func(w *bundle.Writer) error // adds the values; nil: the model has no variables
	Assets     map[string][]byte            // by file name, below assets/
	Extra      map[string][]byte            // below assets.extra/
	Text       bool                         // saved_model.pbtxt instead of .pb
}

// Write publishes a SavedModel as <base>/<version>, like Publish.
func Write(fsys atomicfile.FS, base string, version int64, w Writing) (dir string, err error) {
	if err := w.check(version); err != nil {
		return "", fmt.Errorf("saved model in %s: %w", base, err)
	}
	dir, err = Publish(fsys, base, version, func(dir string) error { return w.fill(fsys, dir) })
	if err != nil {
		return "", fmt.Errorf("saved model in %s: %w", base, err)
	}
	return dir, nil
}

func (w Writing) check(version int64) error {
	if version < 0 || len(w.MetaGraphs) == 0 {
		return fmt.Errorf("version %d of %d graphs: expected a version that is not negative, and a graph", version, len(w.MetaGraphs))
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

// fill makes the files of the directory, durably.
func (w Writing) fill(fsys atomicfile.FS, dir string) error {
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
	data, err := canonicalModel(w.MetaGraphs)
	if err != nil {
		return err
	}
	if len(data) > math.MaxInt32 {
		return fmt.Errorf("the graphs take %d bytes: expected at most 2 GiB, protocol buffers' limit", len(data))
	}
	if w.Text {
		m := &pb.SavedModel{SavedModelSchemaVersion: schemaVersion, MetaGraphs: w.MetaGraphs}
		if data, err = (prototext.MarshalOptions{Multiline: true}).Marshal(m); err != nil {
			return err
		}
		return writeFile(fsys, filepath.Join(dir, TextFile), data)
	}
	if err := w.addFingerprint(fsys, dir, data); err != nil {
		return err
	}
	return writeFile(fsys, filepath.Join(dir, BinaryFile), data)
}

// addFingerprint writes the fingerprint of a model with that file. Its variables must have been written.
func (w Writing) addFingerprint(fsys atomicfile.FS, dir string, file []byte) error {
	var index []byte
	if w.Variables != nil {
		var err error
		if index, err = atomicfile.ReadFile(fsys, bundle.IndexPath(filepath.Join(dir, VariablesPrefix))); err != nil {
			return err
		}
	}
	b, err := fingerprintOf(file, w.MetaGraphs[0], index)
	if err != nil {
		return err
	}
	return writeFile(fsys, filepath.Join(dir, FingerprintFile), b)
}

func writeVariables(fsys atomicfile.FS, dir string, add func(w *bundle.Writer) error) error {
	if err := atomicfile.MkdirAll(fsys, filepath.Join(dir, VariablesDir)); err != nil {
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
	if err := atomicfile.MkdirAll(fsys, filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteFile(fsys, path, data)
}
