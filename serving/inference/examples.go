package inference

import (
	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/serving/wire"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Examples are serialized tf.Examples; the bytes of Context, where there are any, go in front of each, which merges
// its features into them.
type Examples struct {
	Serialized [][]byte
	Context    []byte
}

// tensor returns the examples as a vector of strings.
func (e Examples) tensor() (*graph.Tensor, error) {
	if len(e.Serialized) == 0 {
		return nil, invalid("Input is empty.")
	}
	rows := e.Serialized
	if len(e.Context) > 0 {
		rows = make([][]byte, len(e.Serialized))
		for i, x := range e.Serialized {
			rows[i] = append(append(make([]byte, 0, len(e.Context)+len(x)), e.Context...), x...)
		}
	}
	return &graph.Tensor{DType: graph.String, Shape: []int{len(rows)}, Strings: rows}, nil
}

// input is the same as a message; examples that do not parse are left empty.
func (e Examples) input() *apis.Input {
	list := make([]*example_protos_go_proto.Example, len(e.Serialized))
	for i, b := range e.Serialized {
		list[i] = &example_protos_go_proto.Example{}
		if proto.Unmarshal(b, list[i]) != nil {
			list[i].Reset()
		}
	}
	if len(e.Context) == 0 {
		return &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: list}}}
	}
	c := &example_protos_go_proto.Example{}
	if proto.Unmarshal(e.Context, c) != nil {
		c.Reset()
	}
	return &apis.Input{Kind: &apis.Input_ExampleListWithContext{ExampleListWithContext: &apis.ExampleListWithContext{Examples: list, Context: c}}}
}

// examplesOf serializes the examples of a request.
func examplesOf(in *apis.Input) (e Examples, err error) {
	var list []*example_protos_go_proto.Example
	switch k := in.GetKind().(type) {
	case *apis.Input_ExampleList:
		list = k.ExampleList.GetExamples()
	case *apis.Input_ExampleListWithContext:
		list = k.ExampleListWithContext.GetExamples()
		if c := k.ExampleListWithContext.GetContext(); c != nil {
			if e.Context, err = wire.ExampleBytes(c); err != nil {
				return e, status.Error(codes.Internal, "Error parsing serialized input.")
			}
		}
	}
	e.Serialized = make([][]byte, len(list))
	for i, x := range list {
		if e.Serialized[i], err = wire.ExampleBytes(x); err != nil {
			return e, status.Error(codes.Internal, "Error parsing serialized input.")
		}
	}
	return e, nil
}
