package eagerservice

import (
	"context"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// argument is an input of an op or a function: a value in this task, or a handle of another task.
type argument struct {
	value  eager.Value
	remote *for_core_protos_go_proto.RemoteTensorHandle
}

// dtype returns the type of an argument, or invalid if it is unknown.
func (a argument) dtype() tensor.DType {
	switch {
	case a.remote != nil:
		return tensor.DType(a.remote.GetDtype())
	case a.value.T != nil:
		return a.value.T.DType
	}
	return tensor.Resource
}

// result is an output of an op or a function: a value in this task, or the shape of one that stays in another task.
type result struct {
	value  eager.Value
	device string
	shape  *tensor_shape_go_proto.TensorShapeProto // nil if the value is in this task
}

// operation runs an op or a function.
func (c *clientContext) operation(ctx context.Context, in *rpcs.Operation) (*rpcs.QueueResponse, error) {
	results, err := c.execute(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &rpcs.QueueResponse{}
	if out.Shape, out.Tensor, err = c.keep(in.GetId(), nil, results); err != nil {
		return nil, err
	}
	if in.GetIsFunction() && in.GetId() != invalidID {
		for _, r := range results {
			out.Device = append(out.Device, r.device)
		}
	}
	return out, nil
}

// execute runs an op or a function on its inputs.
func (c *clientContext) execute(ctx context.Context, in *rpcs.Operation) ([]result, error) {
	if err := c.owns(in.GetDevice()); err != nil {
		return nil, err
	}
	args, err := c.arguments(in.GetOpInputs())
	if err != nil {
		return nil, err
	}
	if f := in.GetAttrs()["f"].GetFunc(); f != nil && (in.GetName() == "PartitionedCall" || in.GetName() == "StatefulPartitionedCall") {
		return c.call(ctx, in, f.GetName(), args)
	}
	if in.GetIsFunction() {
		return c.call(ctx, in, in.GetName(), args)
	}
	return c.primitive(ctx, in, args)
}

// arguments finds the inputs of an op.
func (c *clientContext) arguments(inputs []*rpcs.Operation_Input) ([]argument, error) {
	args := make([]argument, len(inputs))
	for i, in := range inputs {
		h := in.GetRemoteHandle()
		var err error
		switch {
		case h == nil:
			if args[i].value.T, err = worker.Decode(in.GetTensor(), c.payer); err != nil {
				return nil, err
			}
		case c.holds(h):
			if args[i].value, err = c.handles.get(handle{h.GetOpId(), h.GetOutputNum()}); err != nil {
				return nil, err
			}
		default:
			args[i].remote = h
		}
	}
	return args, nil
}

// invalidID is the number of an op whose outputs are returned in the answer.
const invalidID = -1

// keep stores the outputs of an op, or returns them if the op has no number. numbers says which outputs they are; nil: all in order.
func (c *clientContext) keep(id int64, numbers []int32, results []result) (shapes []*tensor_shape_go_proto.TensorShapeProto, tensors []*tensor_go_proto.TensorProto, err error) {
	for i, r := range results {
		if id == invalidID {
			if r.value.T == nil {
				return nil, nil, status.Errorf(codes.Unimplemented, "output %d is a resource: it cannot be sent", i)
			}
			t, err := graphdef.ToTensorProto(r.value.T, true)
			if err != nil {
				return nil, nil, status.Error(codes.Internal, err.Error())
			}
			tensors = append(tensors, t)
			continue
		}
		if r.shape != nil { // it is in another task
			shapes = append(shapes, r.shape)
			continue
		}
		at := handle{id, int32(i)}
		if numbers != nil {
			at.output = numbers[i]
		}
		if err := c.handles.put(at, r.value); err != nil {
			return nil, nil, err
		}
		shapes = append(shapes, shapeOf(r.value))
	}
	return shapes, tensors, nil
}

// shapeOf returns the shape of a value; resources are scalars.
func shapeOf(v eager.Value) *tensor_shape_go_proto.TensorShapeProto {
	s := &tensor_shape_go_proto.TensorShapeProto{}
	if v.T != nil {
		for _, d := range v.T.Shape {
			s.Dim = append(s.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: int64(d)})
		}
	}
	return s
}

// primitive runs one op whose inputs are all in this task.
func (c *clientContext) primitive(ctx context.Context, in *rpcs.Operation, args []argument) ([]result, error) {
	call := worker.Call{Step: int64(c.id), Payer: c.payer, Args: make([]eager.Value, len(args))}
	for i, a := range args {
		if a.remote != nil {
			return nil, status.Errorf(codes.Unimplemented, "op %s on %s: input %d is on %s: expected the client to copy it", in.GetName(), c.own.Name, i, placeOf(a.remote))
		}
		call.Args[i] = a.value
	}
	o, err := c.op(ctx, in, args)
	if err != nil {
		return nil, err
	}
	call.Peers, _ = c.cluster()
	call.Results = make([]eager.Value, o.outputs)
	if err := c.worker.Run(ctx, o.graph, call); err != nil {
		return nil, err
	}
	return c.local(call.Results)
}

// local makes results from values.
func (c *clientContext) local(values []eager.Value) ([]result, error) {
	out := make([]result, len(values))
	for i, v := range values {
		if v.T == nil && v.Resource == nil {
			return nil, noValue(i)
		}
		out[i] = result{value: v, device: c.own.Name.String()}
	}
	return out, nil
}

// noValue returns an error with TensorFlow's text.
func noValue(i int) error {
	return status.Errorf(codes.InvalidArgument, "Retval[%d] does not have value", i)
}
