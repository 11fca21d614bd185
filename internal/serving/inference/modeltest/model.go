package modeltest

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	predict  = "tensorflow/serving/predict"
	classify = "tensorflow/serving/classify"
	regress  = "tensorflow/serving/regress"
)

// Source has the model "m" in versions 1 and 2.
func Source() *servable.Memory {
	s := &servable.Memory{}
	s.Set(servable.ID{Name: "m", Version: 1}, New())
	s.Set(servable.ID{Name: "m", Version: 2}, New())
	return s
}

// New returns the model. Its signatures are "serving_default" (y = x/2+2), "two" (a+b and a-b), "defaults" (x*scale, scale
// is 2 by default), "echo" (the same strings), one per type by its name ("int8", ...; the same values), "classify" and
// "regress" (the lengths of serialized examples), and wrong ones, by the name of the mistake.
func New() *servable.Func {
	sigs := map[string]*pb.SignatureDef{
		"serving_default": signature(predict, fields{"x": "x:0 float -1"}, fields{"y": "half:0 float -1"}),
		"two":             signature(predict, fields{"a": "a:0 float -1", "b": "b:0 float -1"}, fields{"diff": "diff:0 float -1", "sum": "sum:0 float -1"}),
		"defaults":        signature(predict, fields{"scale": "scale:0 float", "x": "x:0 float -1"}, fields{"y": "scaled:0 float -1"}),
		"echo":            signature(predict, fields{"s": "s:0 string -1"}, fields{"s": "s:0 string -1"}),
		"classify":        signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"classes": "classes:0 string -1 2", "scores": "scores:0 float -1 2"}),
		"only_classes":    signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"classes": "classes:0 string -1 2"}),
		"only_scores":     signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"scores": "scores:0 float -1 2"}),
		"regress":         signature(regress, fields{"inputs": "ex:0 string -1"}, fields{"outputs": "lengths:0 float -1"}),
		"regress_column":  signature(regress, fields{"inputs": "ex:0 string -1"}, fields{"outputs": "column:0 float -1 1"}),
		"no_method":       signature("", fields{"inputs": "ex:0 string -1"}, fields{"outputs": "lengths:0 float -1"}),
		"two_inputs":      signature(classify, fields{"inputs": "ex:0 string -1", "more": "b:0 float -1"}, fields{"scores": "scores:0 float -1 2"}),
		"three_outputs":   signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"classes": "classes:0 string -1 2", "scores": "scores:0 float -1 2", "z": "lengths:0 float -1"}),
		"other_input":     signature(classify, fields{"examples": "ex:0 string -1"}, fields{"scores": "scores:0 float -1 2"}),
		"other_output":    signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"z": "lengths:0 float -1"}),
	}
	for _, d := range types {
		sigs[d.String()] = signature(predict, fields{"x": "id:0 " + tfName(d) + " -1"}, fields{"x": "id:0 " + tfName(d) + " -1"})
	}
	for name := range mistakes {
		kind, out := classify, "scores"
		switch {
		case name[0] == 'c':
			out = "classes"
		case name[0] == 'r':
			kind, out = regress, "outputs"
		}
		sigs[name] = signature(kind, fields{"inputs": "ex:0 string -1"}, fields{out: name + ":0 float -1"})
	}
	sigs["widths"] = signature(classify, fields{"inputs": "ex:0 string -1"}, fields{"classes": "classes:0 string -1 2", "scores": "scores_wide:0 float -1 3"})
	for _, name := range []string{"panics", "fails", "refuses", "few", "broken", "waits"} {
		sigs[name] = signature(predict, fields{"x": "x:0 float -1"}, fields{"y": name + ":0 float -1"})
	}
	sigs["defaults"].Defaults = map[string]*tensor_go_proto.TensorProto{"scale": {Dtype: types_go_proto.DataType_DT_FLOAT, FloatVal: []float32{2}}}
	return &servable.Func{Sigs: sigs, Compute: compute}
}

// types are the types of "x" that pass through unchanged.
var types = []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16,
	tensor.Uint32, tensor.Uint64, tensor.Bool, tensor.String, tensor.Float16, tensor.BFloat16, tensor.Complex64}

// mistakes are outputs of a classification or regression of n examples that no client must see.
var mistakes = map[string]func(n int) *tensor.Tensor{
	"classes_rank":  func(n int) *tensor.Tensor { return tensor.New(tensor.String, n) },
	"classes_type":  func(n int) *tensor.Tensor { return tensor.New(tensor.Int64, n, 2) },
	"classes_batch": func(n int) *tensor.Tensor { return tensor.New(tensor.String, n+1, 2) },
	"scores_rank":   func(n int) *tensor.Tensor { return tensor.New(tensor.Float32, n, 2, 1) },
	"scores_type":   func(n int) *tensor.Tensor { return tensor.New(tensor.Float64, n, 2) },
	"scores_batch":  func(n int) *tensor.Tensor { return tensor.New(tensor.Float32, n+1, 2) },
	"scores_wide":   func(n int) *tensor.Tensor { return tensor.New(tensor.Float32, n, 3) },
	"regress_rank":  func(n int) *tensor.Tensor { return tensor.New(tensor.Float32, n, 2) },
	"regress_batch": func(n int) *tensor.Tensor { return tensor.New(tensor.Float32, n+1) },
	"regress_type":  func(n int) *tensor.Tensor { return tensor.New(tensor.Int32, n) },
	"regress_none":  func(int) *tensor.Tensor { return tensor.New(tensor.Float32) },
}

func compute(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	outs := make([]*tensor.Tensor, 0, len(fetches))
	for _, name := range fetches {
		if name == "few:0" {
			continue
		}
		t, err := output(ctx, feeds, name[:len(name)-2])
		if err != nil {
			return nil, err
		}
		outs = append(outs, t)
	}
	return outs, nil
}

func output(ctx context.Context, feeds map[string]*tensor.Tensor, name string) (*tensor.Tensor, error) {
	if f := mistakes[name]; f != nil {
		return f(feeds["ex:0"].Len()), nil
	}
	switch name {
	case "half":
		return pointwise(feeds["x:0"], feeds["x:0"], func(a, _ float32) float32 { return a/2 + 2 })
	case "scaled":
		return pointwise(feeds["x:0"], feeds["scale:0"], func(a, b float32) float32 { return a * b })
	case "sum":
		return pointwise(feeds["a:0"], feeds["b:0"], func(a, b float32) float32 { return a + b })
	case "diff":
		return pointwise(feeds["a:0"], feeds["b:0"], func(a, b float32) float32 { return a - b })
	case "s":
		return feeds["s:0"].Clone(), nil
	case "id":
		return feeds["id:0"].Clone(), nil
	case "lengths", "column", "scores", "classes":
		return ofExamples(name, feeds["ex:0"].Strings), nil
	case "panics":
		panic("a defect")
	case "fails":
		return nil, fmt.Errorf("no memory for %s", name)
	case "refuses":
		return nil, status.Error(codes.ResourceExhausted, "too many requests")
	case "broken":
		return &tensor.Tensor{DType: tensor.Float32, Shape: []int{3}, Bytes: []byte{1}}, nil
	case "waits":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, status.Errorf(codes.InvalidArgument, "no tensor %s", name)
}

// pointwise combines a and b element by element; b has one element, or as many as a.
func pointwise(a, b *tensor.Tensor, f func(x, y float32) float32) (*tensor.Tensor, error) {
	if b.Len() != 1 && b.Len() != a.Len() {
		return nil, status.Errorf(codes.InvalidArgument, "Incompatible shapes: %v vs. %v", a.Shape, b.Shape)
	}
	y := tensor.New(tensor.Float32, a.Shape...)
	for i, v := range tensor.Values[float32](a) {
		tensor.Values[float32](y)[i] = f(v, tensor.Values[float32](b)[i%b.Len()])
	}
	return y, nil
}

// ofExamples makes outputs that are the lengths of serialized examples.
func ofExamples(name string, examples [][]byte) *tensor.Tensor {
	n := len(examples)
	switch name {
	case "lengths", "column":
		y := tensor.New(tensor.Float32, n)
		for i, e := range examples {
			tensor.Values[float32](y)[i] = float32(len(e))
		}
		if name == "column" {
			y.Shape = []int{n, 1}
		}
		return y
	case "scores":
		y := tensor.New(tensor.Float32, n, 2)
		for i, e := range examples {
			tensor.Values[float32](y)[2*i], tensor.Values[float32](y)[2*i+1] = float32(len(e)), 0.5
		}
		return y
	}
	y := tensor.New(tensor.String, n, 2)
	for i := range examples {
		y.Strings[2*i], y.Strings[2*i+1] = []byte("long"), []byte("short")
	}
	return y
}

// fields are tensors by alias: "name type dimensions...".
type fields map[string]string

func signature(method string, in, out fields) *pb.SignatureDef {
	return &pb.SignatureDef{MethodName: method, Inputs: in.infos(), Outputs: out.infos()}
}

func (f fields) infos() map[string]*pb.TensorInfo {
	m := map[string]*pb.TensorInfo{}
	for alias, text := range f {
		var name, typ string
		dims := [2]int64{-9, -9}
		_, _ = fmt.Sscan(text, &name, &typ, &dims[0], &dims[1]) // fewer dimensions end the scan
		shape := &tensor_shape_go_proto.TensorShapeProto{}
		for _, d := range dims {
			if d != -9 {
				shape.Dim = append(shape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: d})
			}
		}
		m[alias] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: name}, Dtype: typeOf(typ), TensorShape: shape}
	}
	return m
}
