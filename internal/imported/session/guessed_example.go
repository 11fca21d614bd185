package session

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// exampleFor returns a serialized tf.train.Example with the features that the nodes require, or nil if they parse none.
func exampleFor(nodes []*graph.Node) []string {
	features := map[string]*example_protos_go_proto.Feature{}
	parses := false
	for _, n := range nodes {
		keys, ok := denseKeys(n)
		parses = parses || ok
		types, _ := n.Attrs["Tdense"].([]tensor.DType)
		shapes, _ := n.Attrs["dense_shapes"].([]graph.Shape)
		for i, key := range keys {
			if i < len(types) && i < len(shapes) {
				features[string(key)] = featureOf(types[i], shapes[i])
			}
		}
	}
	if !parses {
		return nil
	}
	b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: features}})
	if err != nil {
		return nil
	}
	return []string{string(b)}
}

// denseKeys returns the names of the dense features that a node parses; false if it parses none.
func denseKeys(n *graph.Node) ([][]byte, bool) {
	switch n.Op {
	case "ParseExampleV2":
		return stringsOf(n, 3), true // serialized, names, sparse_keys, dense_keys
	case "ParseExample":
		var keys [][]byte
		for i := range inputsOf(n, "Ndense") {
			keys = append(keys, stringsOf(n, 2+inputsOf(n, "Nsparse")+i)...)
		}
		return keys, true
	case "ParseSingleExample":
		keys, _ := n.Attrs["dense_keys"].([][]byte)
		return keys, true
	}
	return nil, false
}

// featureOf makes a feature of a type and shape, filled with ones.
func featureOf(d tensor.DType, shape graph.Shape) *example_protos_go_proto.Feature {
	n := 1
	for _, size := range shape.Dims {
		if size.Static() && size.Const < 1<<16 {
			n = min(n*max(size.Const, 0), 1<<20)
		}
	}
	f := &example_protos_go_proto.Feature{}
	switch d {
	case tensor.Float32:
		f.Kind = &example_protos_go_proto.Feature_FloatList{FloatList: &example_protos_go_proto.FloatList{Value: slices.Repeat([]float32{1}, n)}}
	case tensor.Int64:
		f.Kind = &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: slices.Repeat([]int64{1}, n)}}
	default:
		f.Kind = &example_protos_go_proto.Feature_BytesList{BytesList: &example_protos_go_proto.BytesList{Value: slices.Repeat([][]byte{[]byte("1")}, n)}}
	}
	return f
}
