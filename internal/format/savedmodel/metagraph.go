package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// MetaGraph is one graph of a SavedModel.
type MetaGraph struct {
	Dir        string       // of the SavedModel, absolute
	Tags       []string     // sorted
	Graph      *graph.Graph // checked: unique names, valid edges, no cycle outside loops
	Signatures map[string]*pb.SignatureDef
	Proto      *pb.MetaGraphDef // the rest: the saver, collections, the object graph
	Assets     []Asset
	InitOps    []string // nodes that initialise tables and the like; run them once, after restoring the variables
}

// Asset is a file that a graph reads. Feed the tensor with the path
// whenever an init op runs.
type Asset struct {
	Tensor string // "vocabulary:0"
	Path   string // absolute, below the model's assets directory
}

func newMetaGraph(m *Model, p *pb.MetaGraphDef) (*MetaGraph, error) {
	g, err := graphdef.FromGraphDef(p.GetGraphDef())
	if err != nil {
		return nil, err
	}
	if _, err := graph.Sort(g); err != nil {
		return nil, err
	}
	out := &MetaGraph{Dir: m.Dir, Tags: slices.Sorted(slices.Values(p.GetMetaInfoDef().GetTags())), Graph: g, Proto: p, Signatures: map[string]*pb.SignatureDef{}}
	for key, s := range p.GetSignatureDef() {
		switch {
		case s == nil:
			return nil, fmt.Errorf("signature %q is empty", key)
		case key != signatureInitOp && key != signatureTrainOp:
			out.Signatures[key] = s
		}
	}
	if err := out.readAssets(); err != nil {
		return nil, err
	}
	return out, out.readInitOps()
}

// readAssets resolves the files: from the MetaGraphDef or else, for graphs of TensorFlow 1, from the
// collection.
func (g *MetaGraph) readAssets() error {
	for _, a := range g.Proto.GetAssetFileDef() {
		if err := g.addAsset(a); err != nil {
			return err
		}
	}
	if len(g.Assets) > 0 {
		return nil
	}
	for _, x := range g.Proto.GetCollectionDef()[collectionAssets].GetAnyList().GetValue() {
		a := &pb.AssetFileDef{}
		err := x.UnmarshalTo(a)
		if err == nil {
			err = g.addAsset(a)
		}
		if err != nil {
			return fmt.Errorf("collection %s: %w", collectionAssets, err)
		}
	}
	return nil
}

// addAsset adds a file. Its name comes from the model, and must stay below the assets directory.
func (g *MetaGraph) addAsset(a *pb.AssetFileDef) error {
	name := a.GetFilename()
	if !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("asset %q: expected a file name below %s/", name, AssetsDir)
	}
	tensor := a.GetTensorInfo().GetName()
	if g.node(tensor) == nil {
		return fmt.Errorf("asset %q is for tensor %q, which the graph lacks", name, tensor)
	}
	g.Assets = append(g.Assets, Asset{Tensor: tensor, Path: filepath.Join(g.Dir, AssetsDir, name)})
	return nil
}

// node returns the node of a tensor or node name, nil if there is none.
func (g *MetaGraph) node(tensor string) *graph.Node {
	name, _, _ := strings.Cut(strings.TrimPrefix(tensor, "^"), ":")
	return g.Graph.Node(name)
}

// readInitOps finds the main op like TensorFlow's loader: from the signature of
// TensorFlow 2, else the collection of the main op, else that of the legacy init op.
func (g *MetaGraph) readInitOps() error {
	if s := g.Proto.GetSignatureDef()[signatureInitOp]; s != nil {
		for _, out := range s.GetOutputs() {
			if err := g.addInitOp(out.GetName()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, key := range []string{collectionMainOp, collectionLegacyInitOp} {
		ops := g.Proto.GetCollectionDef()[key].GetNodeList().GetValue()
		for _, op := range ops {
			if err := g.addInitOp(op); err != nil {
				return fmt.Errorf("collection %s: %w", key, err)
			}
		}
		if len(ops) > 0 {
			return nil
		}
	}
	return nil
}

func (g *MetaGraph) addInitOp(name string) error {
	n := g.node(name)
	if n == nil {
		return fmt.Errorf("init op %q is not in the graph", name)
	}
	g.InitOps = append(g.InitOps, n.Name)
	return nil
}

// Variables opens the values of the variables; it returns nil if the model has none. The
// caller closes the reader.
func (g *MetaGraph) Variables() (*bundle.Reader, error) {
	prefix := filepath.Join(g.Dir, VariablesPrefix)
	if _, err := os.Stat(bundle.IndexPath(prefix)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return bundle.Open(atomicfile.OS{}, prefix)
}
