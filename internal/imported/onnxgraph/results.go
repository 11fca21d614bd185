package onnxgraph

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// keysOfMap is the suffix in the name of a result that has the column names of another result.
const keysOfMap = "_keys"

// outputs names the model's results.
func (t *translation) outputs(s *scope, sig *pb.SignatureDef) {
	if len(t.m.Graph.Outputs) == 0 {
		refuse("the model has no outputs")
	}
	for _, out := range t.m.Graph.Outputs {
		v, err := s.find(out.Name)
		if err != nil {
			refuse("output %q: %v", out.Name, err)
		}
		if v == nil {
			t.gap("output", "it is no tensor", out.Name)
			continue
		}
		s.b.name = out.Name
		t.output(s.b, sig, out, v)
	}
}

// output adds a result. A sequence becomes one output per element, named _0, _1 and so on, or one tensor of all elements if only a request
// says how many there are; a map becomes the scores, and the names of the scores.
func (t *translation) output(b *builder, sig *pb.SignatureDef, out onnx.Value, v *value) {
	if out.Kind != "" {
		out.Kind, out.Dims, out.Unranked = "", nil, true
	}
	if err := t.ctx.Err(); err != nil {
		refuse("%v", err)
	}
	if v.seq {
		name := out.Name
		for i, each := range v.items {
			out.Name = fmt.Sprintf("%s_%d", name, i)
			t.output(b, sig, out, each)
		}
		return
	}
	if e := v.list; e != nil {
		if e.dims == nil {
			t.gap("output", "a sequence whose length, and the rank of whose elements, are not known", out.Name)
			return
		}
		v = b.sized(b.op(ops.TensorListStack, graph.Attrs{"element_dtype": e.dtype, "num_elements": int64(-1)}, b.own(v), b.elementShape(e)), append([]int{-1}, e.dims...))
		out.Unranked, out.Dims = false, []onnx.Dim{{Size: -1}}
		for _, d := range e.dims {
			out.Dims = append(out.Dims, onnx.Dim{Size: d})
		}
	}
	if keys := v.keys; keys != nil {
		scores := *v
		scores.keys = nil
		v = b.add(&scores)
		out.Unranked, out.Dims = false, []onnx.Dim{{Size: -1}, {Size: keys.Len()}}
		names := out
		names.Name += keysOfMap
		t.output(b, sig, names, b.op(ops.BroadcastTo, nil, constant(keys), b.pack(b.size(v, 0), b.i32(keys.Len()))))
	}
	if sig.Outputs[out.Name] != nil {
		refuse("two outputs %q: one of them is an element of a sequence or the names of a map", out.Name)
	}
	if v.four != tensor.Invalid {
		t.gap("output", "elements of 4 bits", out.Name)
		return
	}
	t.count(3)
	v = b.plain(b.own(v))
	o := b.operand(v, ops.RoleConstant)
	o = b.g.Op("Identity", b.nodeName(out.Name, ""), o.Type(), graph.Attrs{"T": v.dtype}, o)
	out.DType = v.dtype
	sig.Outputs[out.Name] = info(out, &value{dtype: v.dtype, out: o})
}
