package savedmodel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// ErrInvalid is wrapped by errors about a directory that is no SavedModel, or a
// damaged one.
var ErrInvalid = errors.New("invalid SavedModel")

// Model is a SavedModel directory as read: checked, nothing executed.
type Model struct {
	Dir    string // absolute
	Proto  *pb.SavedModel
	limits Limits
}

// Read reads the SavedModel in dir, from saved_model.pb or else saved_model.pbtxt.
// The error wraps fs.ErrNotExist if neither exists, or ErrInvalid if the
// content is wrong.
func Read(dir string, o Limits) (*Model, error) {
	o = o.orDefaults()
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", dir, err)
	}
	m := &Model{Dir: abs, Proto: &pb.SavedModel{}, limits: o}
	data, text, err := readProtoFile(abs, o.FileBytes)
	if err != nil {
		return nil, fmt.Errorf("saved model %s: %w", dir, err)
	}
	if err := m.parse(data, text); err != nil {
		return nil, fmt.Errorf("saved model %s: %w: %w", dir, ErrInvalid, err)
	}
	return m, nil
}

// readProtoFile returns the content of the model's file, and whether it is text.
func readProtoFile(dir string, limit int64) (data []byte, text bool, err error) {
	for _, name := range []string{BinaryFile, TextFile} {
		data, err := readFile(filepath.Join(dir, name), limit)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return data, name == TextFile, err
		}
	}
	return nil, false, fmt.Errorf("neither %s nor %s is there: %w", BinaryFile, TextFile, fs.ErrNotExist)
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%w: %s is %v of %d bytes: expected a file of at most %d", ErrInvalid, path, info.Mode().Type(), info.Size(), limit)
	}
	if n, hollow := diskspace.Hollow(info); hollow {
		return nil, fmt.Errorf("%w: %s has holes: %d of its %d bytes were written", ErrInvalid, path, n, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size()+1) // all at once: a slice that grows is in memory twice
	n, err := io.ReadFull(f, data)
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s grew beyond %d bytes while it was read", path, info.Size())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return data[:n], nil
	}
	return nil, err
}

func (m *Model) parse(data []byte, text bool) error {
	var err error
	if text {
		err = prototext.Unmarshal(data, m.Proto)
	} else {
		err = proto.Unmarshal(data, m.Proto)
	}
	if err != nil {
		return err
	}
	if v := m.Proto.GetSavedModelSchemaVersion(); v > schemaVersion || v < 0 {
		return fmt.Errorf("schema version %d: expected %d", v, schemaVersion)
	}
	if len(m.Proto.GetMetaGraphs()) == 0 {
		return errors.New("it holds no graph")
	}
	for i, g := range m.Proto.GetMetaGraphs() {
		if g.GetMetaInfoDef() == nil || g.GetGraphDef() == nil {
			return fmt.Errorf("graph %d has no meta information or no nodes", i)
		}
		if err := m.checkSize(g); err != nil {
			return fmt.Errorf("graph %d, tags %v: %w", i, g.GetMetaInfoDef().GetTags(), err)
		}
	}
	return nil
}

func (m *Model) checkSize(g *pb.MetaGraphDef) error {
	nodes := len(g.GetGraphDef().GetNode())
	for _, f := range g.GetGraphDef().GetLibrary().GetFunction() {
		nodes += len(f.GetNodeDef())
	}
	if nodes > m.limits.Nodes {
		return fmt.Errorf("%d nodes: expected at most %d", nodes, m.limits.Nodes)
	}
	if n := max(len(g.GetAssetFileDef()), len(g.GetCollectionDef()[collectionAssets].GetAnyList().GetValue())); n > m.limits.Assets {
		return fmt.Errorf("%d assets: expected at most %d", n, m.limits.Assets)
	}
	return nil
}

// Tags returns the tags of each graph, sorted, in the order of the graphs.
func (m *Model) Tags() [][]string {
	out := make([][]string, len(m.Proto.GetMetaGraphs()))
	for i, g := range m.Proto.GetMetaGraphs() {
		out[i] = slices.Sorted(slices.Values(g.GetMetaInfoDef().GetTags()))
	}
	return out
}

// MetaGraph returns the graph that has exactly these tags, in any order. The error
// for unknown tags lists the existing ones.
func (m *Model) MetaGraph(tags ...string) (*MetaGraph, error) {
	want := slices.Compact(slices.Sorted(slices.Values(tags)))
	have := m.Tags()
	for i, t := range have {
		if slices.Equal(slices.Compact(t), want) {
			g, err := newMetaGraph(m, m.Proto.GetMetaGraphs()[i])
			if err != nil {
				return nil, fmt.Errorf("saved model %s, tags %v: %w: %w", m.Dir, want, ErrInvalid, err)
			}
			return g, nil
		}
	}
	list := make([]string, len(have))
	for i, t := range have {
		list[i] = "{" + strings.Join(t, ", ") + "}"
	}
	return nil, fmt.Errorf("saved model %s: no graph has the tags {%s}: it has %s", m.Dir, strings.Join(want, ", "), strings.Join(list, " "))
}
