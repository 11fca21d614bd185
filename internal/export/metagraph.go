package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/models"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/variable_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The TensorFlow version that models claim to be made by: the first one that has all the ops,
// so that it and all later ones load them.
const (
	tensorFlowVersion = "2.4.0"
	producer          = 469
)

// tags are the tags of the modes' graphs.
var tags = map[models.Mode]string{models.Predict: savedmodel.TagServe, models.Train: savedmodel.TagTrain, models.Eval: savedmodel.TagEval}

// initialise adds the main op, which fills the tables that the signatures need.
func (a *assembly) initialise() {
	needed := graph.Reachable(a.roots()...)
	var run []*graph.Node
	for _, n := range a.init {
		if len(n.Inputs) > 0 && needed[n.Inputs[0].Node] {
			run = append(run, n)
		}
	}
	for _, v := range a.locals {
		run = append(run, v.assign)
	}
	if len(run) > 0 {
		a.main = a.Node("NoOp", "init", nil, nil)
		a.main.Control = run
	}
	needed = graph.Reachable(append(a.roots(), run...)...)
	kept := a.assets[:0]
	for _, f := range a.assets {
		if needed[f.Tensor.Node] {
			kept = append(kept, f)
		}
	}
	a.assets = kept
}

// metaGraph returns the graph as a MetaGraphDef.
func (a *assembly) metaGraph() (*pb.MetaGraphDef, error) {
	if err := a.Err(); err != nil {
		return nil, err
	}
	def, err := a.graphDef()
	if err != nil {
		return nil, err
	}
	mg := &pb.MetaGraphDef{
		MetaInfoDef: &pb.MetaGraphDef_MetaInfoDef{Tags: []string{tags[a.mode]}, TensorflowVersion: tensorFlowVersion, StrippedDefaultAttrs: true},
		GraphDef:    def, SaverDef: a.saver.def(),
		CollectionDef: map[string]*pb.CollectionDef{}, SignatureDef: map[string]*pb.SignatureDef{},
	}
	for _, s := range a.signatures {
		mg.SignatureDef[s.Name] = a.signatureDef(s)
	}
	if err := a.collect(mg); err != nil {
		return nil, err
	}
	return mg, nil
}

// graphDef returns the needed nodes, each after the nodes that it needs.
func (a *assembly) graphDef() (*graph_go_proto.GraphDef, error) {
	sorted, err := graph.Sort(a.Graph)
	if err != nil {
		return nil, err
	}
	roots := append(a.roots(), a.main)
	for _, in := range a.inputs {
		if a.input.parsing {
			roots = append(roots, in.tensor.Node)
		}
	}
	for _, v := range slices.Concat(a.variables, a.locals) {
		roots = append(roots, v.assign, v.read.Node)
	}
	if a.saver != nil {
		roots = append(roots, a.saver.restored, a.saver.saved.Node)
	}
	needed := graph.Reachable(roots...)
	a.inputs = keep(a.inputs, func(in input) bool { return needed[in.tensor.Node] })
	g := graph.New()
	g.Producer, g.Library = producer, a.library
	for _, n := range sorted {
		if !needed[n] {
			continue
		}
		n.Name, n.Device = g.UniqueName(nodeName(n.Name)), ""
		if err := g.Add(n); err != nil {
			return nil, err
		}
	}
	a.Graph = g
	return GraphDef(g)
}

// Portable rewrites a graph so that TensorFlow's runtime behaves like the engine: it uses ops that TensorFlow has, and adds edges where the
// engine reads variables before updating them. Roots are what a step runs and fetches, including updates.
func Portable(b *graph.Builder, roots ...*graph.Node) error {
	e := emitter{b}
	if err := portable(e); err != nil {
		return err
	}
	e.order(roots, roots)
	return e.Err()
}

// GraphDef converts a portable graph, without attributes that only this project uses.
func GraphDef(g *graph.Graph) (*graph_go_proto.GraphDef, error) {
	def, err := graphdef.ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	for _, n := range def.Node {
		for name := range n.Attr {
			if private(name) {
				delete(n.Attr, name)
			}
		}
	}
	def.Versions = &versions_go_proto.VersionDef{Producer: producer}
	return def, nil
}

func keep[T any](list []T, is func(T) bool) []T {
	var out []T
	for _, x := range list {
		if is(x) {
			out = append(out, x)
		}
	}
	return out
}

// nodeName converts a name to one that TensorFlow accepts for a node.
func nodeName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, name)
	if clean == "" || strings.ContainsRune("_-/", rune(clean[0])) {
		clean = "x" + clean
	}
	return clean
}

// collect adds the collections that loaders read: variables, main op, train op, assets.
func (a *assembly) collect(mg *pb.MetaGraphDef) error {
	lists := map[string][][]byte{}
	for _, v := range slices.Concat(a.variables, a.locals) {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&variable_go_proto.VariableDef{
			VariableName: v.handle.String(), InitialValueName: v.initial.String(), InitializerName: v.assign.Name,
			SnapshotName: v.read.String(), IsResource: true, Trainable: v.trainable,
		})
		if err != nil {
			return err
		}
		for _, key := range v.collections() {
			lists[key] = append(lists[key], b)
		}
	}
	for key, list := range lists {
		mg.CollectionDef[key] = bytesList(list)
	}
	if a.main != nil {
		mg.CollectionDef["saved_model_main_op"] = nodeList([]string{a.main.Name})
	}
	if len(a.trainOp) > 0 {
		mg.CollectionDef[savedmodel.CollectionTrainOp] = nodeList([]string{a.trainOp[0].Name})
	}
	return a.collectAssets(mg)
}

func (a *assembly) collectAssets(mg *pb.MetaGraphDef) error {
	if len(a.assets) == 0 {
		return nil
	}
	var names []string
	files := &pb.CollectionDef_AnyList{}
	for _, f := range a.assets {
		def := &pb.AssetFileDef{TensorInfo: &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: f.Tensor.String()}}, Filename: f.Name}
		packed, err := anypb.New(def)
		if err != nil {
			return fmt.Errorf("asset %q: %w", f.Name, err)
		}
		mg.AssetFileDef = append(mg.AssetFileDef, def)
		files.Value, names = append(files.Value, packed), append(names, f.Tensor.String())
	}
	mg.CollectionDef["asset_filepaths"] = nodeList(names)
	mg.CollectionDef["saved_model_assets"] = &pb.CollectionDef{Kind: &pb.CollectionDef_AnyList_{AnyList: files}}
	return nil
}

func bytesList(b [][]byte) *pb.CollectionDef {
	return &pb.CollectionDef{Kind: &pb.CollectionDef_BytesList_{BytesList: &pb.CollectionDef_BytesList{Value: b}}}
}

func nodeList(names []string) *pb.CollectionDef {
	return &pb.CollectionDef{Kind: &pb.CollectionDef_NodeList_{NodeList: &pb.CollectionDef_NodeList{Value: names}}}
}
