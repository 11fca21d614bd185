package savedmodel_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// small returns a SavedModel with a placeholder and an identity.
func small() *pb.SavedModel {
	attr := map[string]*attr_value_go_proto.AttrValue{"T": {Value: &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType_DT_FLOAT}}}
	typed := map[string]*attr_value_go_proto.AttrValue{"dtype": attr["T"]}
	info := func(name string) map[string]*pb.TensorInfo {
		return map[string]*pb.TensorInfo{name[:1]: {Encoding: &pb.TensorInfo_Name{Name: name}, Dtype: types_go_proto.DataType_DT_FLOAT}}
	}
	return &pb.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*pb.MetaGraphDef{{
		MetaInfoDef: &pb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef: &graph_go_proto.GraphDef{Node: []*node_def_go_proto.NodeDef{
			{Name: "x", Op: "Placeholder", Attr: typed}, {Name: "y", Op: "Identity", Input: []string{"x"}, Attr: attr}}},
		SignatureDef:  map[string]*pb.SignatureDef{"serving_default": {Inputs: info("x:0"), Outputs: info("y:0"), MethodName: savedmodel.MethodPredict}},
		CollectionDef: map[string]*pb.CollectionDef{"saved_model_main_op": nodes("y")},
		AssetFileDef:  []*pb.AssetFileDef{{TensorInfo: &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: "x:0"}}, Filename: "words.txt"}},
	}}}
}

func nodes(names ...string) *pb.CollectionDef {
	return &pb.CollectionDef{Kind: &pb.CollectionDef_NodeList_{NodeList: &pb.CollectionDef_NodeList{Value: names}}}
}

// on writes the bytes of a model into a new directory.
func on(t testing.TB, file string, b []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func written(t testing.TB, m *pb.SavedModel) string {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return on(t, savedmodel.BinaryFile, b)
}

func open(dir string) (*savedmodel.MetaGraph, error) {
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		return nil, err
	}
	return m.MetaGraph("serve")
}

// TestAssetsOfCollection: graphs of TensorFlow 1 list their files in a collection.
func TestAssetsOfCollection(t *testing.T) {
	for name, ok := range map[string]bool{"words.txt": true, "../words.txt": false} {
		m := small()
		g := m.MetaGraphs[0]
		def := g.AssetFileDef[0]
		def.Filename = name
		packed, err := anypb.New(def)
		if err != nil {
			t.Fatal(err)
		}
		g.AssetFileDef = nil
		g.CollectionDef["saved_model_assets"] = &pb.CollectionDef{Kind: &pb.CollectionDef_AnyList_{AnyList: &pb.CollectionDef_AnyList{Value: []*anypb.Any{packed}}}}
		dir := written(t, m)
		read, err := open(dir)
		if (err == nil) != ok {
			t.Fatalf("%s: got %v", name, err)
		}
		if want := filepath.Join(dir, savedmodel.AssetsDir, name); ok && (len(read.Assets) != 1 || read.Assets[0] != savedmodel.Asset{Tensor: "x:0", Path: want}) {
			t.Errorf("got %v, expected %s for x:0", read.Assets, want)
		}
	}
}

func TestRead(t *testing.T) {
	text, err := prototext.Marshal(small())
	if err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"binary": written(t, small()), "text": on(t, savedmodel.TextFile, text)} {
		g, err := open(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(g.Graph.Nodes()) != 2 || len(g.Signatures) != 1 || len(g.InitOps) != 1 || g.InitOps[0] != "y" {
			t.Errorf("%s: got %d nodes, signatures %v, init ops %v", name, len(g.Graph.Nodes()), g.Signatures, g.InitOps)
		}
		if len(g.Assets) != 1 || g.Assets[0].Path != filepath.Join(g.Dir, "assets", "words.txt") {
			t.Errorf("%s: assets %v", name, g.Assets)
		}
		if r, err := g.Variables(); r != nil || err != nil {
			t.Errorf("%s: variables %v, %v: expected none", name, r, err)
		}
	}
}

func TestInitOps(t *testing.T) {
	for name, c := range map[string]struct {
		change func(g *pb.MetaGraphDef)
		want   string
	}{
		"legacy": {func(g *pb.MetaGraphDef) {
			g.CollectionDef = map[string]*pb.CollectionDef{"legacy_init_op": nodes("x")}
		}, "x"},
		"signature": {func(g *pb.MetaGraphDef) {
			g.SignatureDef["__saved_model_init_op"] = &pb.SignatureDef{Outputs: map[string]*pb.TensorInfo{"op": {Encoding: &pb.TensorInfo_Name{Name: "x"}}}}
		}, "x"},
		"none": {func(g *pb.MetaGraphDef) { g.CollectionDef = nil }, ""},
	} {
		m := small()
		c.change(m.MetaGraphs[0])
		g, err := open(written(t, m))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(g.InitOps, ","); got != c.want || len(g.Signatures) != 1 {
			t.Errorf("%s: init ops %q, %d signatures: want %q, 1", name, got, len(g.Signatures), c.want)
		}
	}
}

func TestTags(t *testing.T) {
	m := small()
	again := proto.Clone(m.MetaGraphs[0]).(*pb.MetaGraphDef)
	again.MetaInfoDef.Tags = []string{"serve", "gpu"}
	m.MetaGraphs = append(m.MetaGraphs, again)
	got, err := savedmodel.Read(written(t, m), savedmodel.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if g, err := got.MetaGraph("serve", "gpu"); err != nil || len(g.Tags) != 2 {
		t.Errorf("got %v, %v", g, err)
	}
	if _, err := got.MetaGraph("train"); err == nil || !strings.Contains(err.Error(), "no graph has the tags {train}: it has {serve} {gpu, serve}") {
		t.Errorf("got %v", err)
	}
}

// Errors say what is wrong with a directory.
func TestWrongModels(t *testing.T) {
	change := func(f func(g *pb.MetaGraphDef)) string {
		m := small()
		f(m.MetaGraphs[0])
		return written(t, m)
	}
	node := func(n *node_def_go_proto.NodeDef) string {
		return change(func(g *pb.MetaGraphDef) { g.GraphDef.Node = append(g.GraphDef.Node, n) })
	}
	asset := func(name, tensor string) string {
		return change(func(g *pb.MetaGraphDef) {
			g.AssetFileDef[0].Filename = name
			g.AssetFileDef[0].TensorInfo.Encoding = &pb.TensorInfo_Name{Name: tensor}
		})
	}
	for want, dir := range map[string]string{
		"it holds no graph":              on(t, savedmodel.BinaryFile, nil),
		"proto":                          on(t, savedmodel.BinaryFile, []byte("\x0b\xffnonsense")),
		"syntax error":                   on(t, savedmodel.TextFile, []byte("meta_graphs {{{")),
		"duplicate node name":            node(&node_def_go_proto.NodeDef{Name: "x", Op: "NoOp"}),
		"cycle":                          node(&node_def_go_proto.NodeDef{Name: "z", Op: "Identity", Input: []string{"z"}}),
		"the graph has no such node":     node(&node_def_go_proto.NodeDef{Name: "z", Op: "Identity", Input: []string{"nowhere"}}),
		`"../../etc/passwd": expected a`: asset("../../etc/passwd", "x:0"),
		`"/etc/passwd": expected a`:      asset("/etc/passwd", "x:0"),
		`"..\\secret": expected a`:       asset(`..\secret`, "x:0"),
		`asset "": expected a`:           asset("", "x:0"),
		`"q:0", which the graph lacks`:   asset("a", "q:0"),
		"init op \"lost\"":               change(func(g *pb.MetaGraphDef) { g.CollectionDef["saved_model_main_op"] = nodes("lost") }),
		"has no meta information":        change(func(g *pb.MetaGraphDef) { g.MetaInfoDef = nil }),
		"schema version 7: expected 1":   written(t, &pb.SavedModel{SavedModelSchemaVersion: 7, MetaGraphs: small().MetaGraphs}),
		"expected a file of at most": func() string {
			d := t.TempDir()
			_ = os.MkdirAll(filepath.Join(d, savedmodel.BinaryFile), 0o755)
			return d
		}(),
		"no graph has the tags {serve}: i": change(func(g *pb.MetaGraphDef) { g.MetaInfoDef.Tags = nil }),
	} {
		if _, err := open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		} else if !strings.Contains(want, "tags") && !errors.Is(err, savedmodel.ErrInvalid) {
			t.Errorf("%v: expected it to wrap ErrInvalid", err)
		}
	}
	if _, err := open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestLimits(t *testing.T) {
	dir := written(t, small())
	for want, l := range map[string]savedmodel.Limits{"of at most 10": {FileBytes: 10}, "2 nodes": {Nodes: 1}} {
		if _, err := savedmodel.Read(dir, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
}
