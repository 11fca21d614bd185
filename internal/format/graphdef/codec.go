package graphdef

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Marshal returns g as a serialized GraphDef; equal graphs give equal bytes.
func Marshal(g *graph.Graph) ([]byte, error) {
	gd, err := ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(gd)
}

// Unmarshal reads a serialized GraphDef.
func Unmarshal(data []byte) (*graph.Graph, error) {
	gd := &graph_go_proto.GraphDef{}
	if err := proto.Unmarshal(data, gd); err != nil {
		return nil, fmt.Errorf("graphdef: %d bytes that are no GraphDef: %w", len(data), err)
	}
	return FromGraphDef(gd)
}

// MarshalText returns g as a GraphDef in protocol buffers' text form (.pbtxt).
// Its white space differs between builds.
func MarshalText(g *graph.Graph) ([]byte, error) {
	gd, err := ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	return prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(gd)
}
