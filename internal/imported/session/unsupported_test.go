package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// copied returns a copy of a golden model for a test to change.
func copied(t testing.TB, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testkit.Shared(t, "golden/tensorflow-serving/"+name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNoVariables: a model without the values that its signatures read is refused, and they are named.
func TestNoVariables(t *testing.T) {
	for name, first := range map[string]string{
		"saved_model_half_plus_two_cpu/00000123": "a, a2, b, c, c2", "saved_model_half_plus_two_tf2_cpu/00000123": "a, b, c", "saved_model_counter/00000123": "counter",
	} {
		dir := copied(t, name)
		if err := os.RemoveAll(filepath.Join(dir, savedmodel.VariablesDir)); err != nil {
			t.Fatal(err)
		}
		s, err := session.Open(context.Background(), dir, session.Options{})
		if !errors.Is(err, eager.ErrUninitialized) || !strings.Contains(err.Error(), first) || s != nil {
			t.Errorf("%s: got %v, expected %s", name, err, first)
		}
	}
}

// TestOutputsThatAreNoTensors: a signature cannot return a variable itself, or several tensors as one.
func TestOutputsThatAreNoTensors(t *testing.T) {
	for want, info := range map[string]func(g *pb.MetaGraphDef) *pb.TensorInfo{
		"of type resource: expected numbers or strings": func(g *pb.MetaGraphDef) *pb.TensorInfo {
			at := slices.IndexFunc(g.GraphDef.Node, func(n *node_def_go_proto.NodeDef) bool { return n.Op == "VarHandleOp" })
			return &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: g.GraphDef.Node[at].Name + ":0"}}
		},
		"is a sparse tensor, which no request can carry": func(*pb.MetaGraphDef) *pb.TensorInfo {
			return &pb.TensorInfo{Encoding: &pb.TensorInfo_CooSparse_{CooSparse: &pb.TensorInfo_CooSparse{}}}
		},
		"is a composite tensor, which no request can carry": func(*pb.MetaGraphDef) *pb.TensorInfo {
			return &pb.TensorInfo{Encoding: &pb.TensorInfo_CompositeTensor_{CompositeTensor: &pb.TensorInfo_CompositeTensor{}}}
		},
	} {
		dir := copied(t, "saved_model_half_plus_two_tf2_cpu/00000123")
		path := filepath.Join(dir, savedmodel.BinaryFile)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m := &pb.SavedModel{}
		if err := proto.Unmarshal(data, m); err != nil {
			t.Fatal(err)
		}
		outputs := m.MetaGraphs[0].SignatureDef["serving_default"].Outputs
		for name := range outputs {
			outputs[name] = info(m.MetaGraphs[0])
		}
		if data, err = proto.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Open(context.Background(), dir, session.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestFilesOfALoadedModel: changes to its files do not change the answers of a loaded model.
func TestFilesOfALoadedModel(t *testing.T) {
	dir := copied(t, "saved_model_half_plus_two_tf2_cpu/00000123")
	s, err := session.Open(t.Context(), dir, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.Contains(path, "data-"):
			return os.WriteFile(path, make([]byte, 1000), 0o644)
		}
		return os.Truncate(path, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		near(t, "y", call(t, s, "serving_default", map[string]*tensor.Tensor{"x": floats(t, []float32{1, 2, 5}, 3, 1)})["y"], 2.5, 3, 4.5)
		s.Evict() // makes new programs
	}
}
