package rest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// catalog also has the states of models that are in no source.
type catalog struct{ *servable.Memory }

func (c catalog) Models() []string {
	names := append(c.Memory.Models(), "states")
	slices.Sort(names)
	return names
}

func (c catalog) Status(name string) []servable.Status {
	if name != "states" {
		return c.Memory.Status(name)
	}
	id := func(v int64) servable.ID { return servable.ID{Name: name, Version: v} }
	return []servable.Status{
		{ID: id(5), State: servable.Loading},
		{ID: id(4), State: servable.End, Err: status.Error(codes.NotFound, "no \"variables\"")},
		{ID: id(3), State: servable.Available},
		{ID: id(2), State: servable.Unloading},
		{ID: id(1), State: servable.End, Err: errors.New("plain")},
	}
}

// labelled is a source with one label.
type labelled struct{ *servable.Memory }

func (l labelled) Acquire(name string, v servable.Version) (servable.Handle, error) {
	if v.Label == "stable label" {
		v = servable.Version{Number: 123, Exact: true}
	}
	return l.Memory.Acquire(name, v)
}

// models are the models that the tests call.
func models() *servable.Memory {
	m := &servable.Memory{}
	m.Set(servable.ID{Name: "half_plus_two", Version: 123}, halfPlusTwo())
	m.Set(servable.ID{Name: "types", Version: 1}, echo(typeSignatures()))
	m.Set(servable.ID{Name: "multi", Version: 2}, echo(map[string]*pb.SignatureDef{
		"serving_default": def("predict", "i int32 int:0, s string str:0, f float32 float:0", "i int32 int:0, s string str:0, f float32 float:0"),
		"named_bytes":     def("predict", "s string str:0", "s string str:0, s_bytes string str:0"),
		"half":            def("predict", "s string str:0", "a float16 half:0"),
		"uneven":          def("predict", "s string str:0", "a string str:0, b float32 three:0"),
		"scalar":          def("predict", "s string str:0", "a float32 scalar:0"),
		"none":            def("predict", "s string str:0", ""),
		"no_inputs":       def("predict", "", "s string str:0"),
		"floats":          def("predict", "s string str:0", "a float32 floats:0"),
		"doubles":         def("predict", "s string str:0", "a float64 doubles:0"),
	}))
	m.Set(servable.ID{Name: "examples", Version: 1}, &servable.Func{Sigs: map[string]*pb.SignatureDef{
		"serving_default": def("classify", "inputs string ex:0", "classes string text:0"),
		"regress":         def("regress", "inputs string ex:0", "outputs float32 x:0"),
	}, Compute: computeExamples})
	m.Set(servable.ID{Name: "a/b c:d", Version: 1}, echo(map[string]*pb.SignatureDef{"serving_default": def("predict", "x int32 x:0", "x int32 x:0")}))
	m.Set(servable.ID{Name: "fails", Version: 1}, failing())
	return m
}

func typeSignatures() map[string]*pb.SignatureDef {
	sigs := map[string]*pb.SignatureDef{}
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8,
		tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Bool, tensor.String, tensor.Float16, tensor.BFloat16, tensor.Complex64} {
		x := fmt.Sprintf("x %v x:0", d)
		sigs[d.String()] = def("predict", x, x)
	}
	return sigs
}

// def is a signature with tensors: "alias type name, ...".
func def(method, in, out string) *pb.SignatureDef {
	infos := func(text string) map[string]*pb.TensorInfo {
		m := map[string]*pb.TensorInfo{}
		for _, part := range strings.Split(text, ", ") {
			if f := strings.Fields(part); len(f) == 3 {
				d, _ := tensor.ParseDType(f[1])
				m[f[0]] = &pb.TensorInfo{Dtype: types_go_proto.DataType(d), Encoding: &pb.TensorInfo_Name{Name: f[2]},
					TensorShape: &tensor_shape_go_proto.TensorShapeProto{UnknownRank: true}}
			}
		}
		return m
	}
	return &pb.SignatureDef{MethodName: "tensorflow/serving/" + method, Inputs: infos(in), Outputs: infos(out)}
}

// echo returns its feeds, or one of a few tensors.
func echo(sigs map[string]*pb.SignatureDef) *servable.Func {
	return &servable.Func{Sigs: sigs, Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		var out []*tensor.Tensor
		for _, f := range fetches {
			switch t := feeds[f]; {
			case t != nil:
				out = append(out, t)
			case f == "half:0":
				out = append(out, tensor.New(tensor.Float16, 1))
			case f == "three:0":
				out = append(out, tensor.New(tensor.Float32, 3))
			case f == "scalar:0":
				out = append(out, tensor.Scalar(float32(7)))
			case f == "floats:0":
				out = append(out, floats(9000000, 999999, 0.5, .0003, .00003, 555557.5, 0.1, 1.0/3, 16777216, 1e10, 1.5e-40, 0, 0,
					math.MaxFloat32, math.SmallestNonzeroFloat32, 123456.7, 1234567, 100000, 1e6, 0.0001, 0.00001, float32(math.NaN()),
					float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1))))
			case f == "doubles:0":
				out = append(out, floats(9000000, 0.5, 0.1, 1.0/3, 1e300, 123456, 1234567, 12345678.9, 5e-324, math.NaN(), math.Inf(-1)))
			}
		}
		return out, nil
	}}
}

func floats[T float32 | float64](xs ...T) *tensor.Tensor {
	t, _ := tensor.FromSlice(xs, len(xs))
	return t
}

// computeExamples answers with the features of each example as text, or with its feature x.
func computeExamples(_ context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
	in := feeds["ex:0"].Strings
	labels, xs := make([][]byte, len(in)), make([]float32, len(in))
	for i, b := range in {
		var e example_protos_go_proto.Example
		if err := proto.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		var parts []string
		for name, f := range e.GetFeatures().GetFeature() {
			switch k := f.GetKind().(type) {
			case *example_protos_go_proto.Feature_BytesList:
				parts = append(parts, fmt.Sprintf("%s=%q", name, k.BytesList.GetValue()))
			case *example_protos_go_proto.Feature_FloatList:
				parts = append(parts, fmt.Sprintf("%s=float%v", name, k.FloatList.GetValue()))
				xs[i] = k.FloatList.GetValue()[0]
			case *example_protos_go_proto.Feature_Int64List:
				parts = append(parts, fmt.Sprintf("%s=int%v", name, k.Int64List.GetValue()))
			default:
				parts = append(parts, name+"=unset")
			}
		}
		slices.Sort(parts)
		labels[i] = []byte(strings.Join(parts, " "))
	}
	if fetches[0] == "x:0" {
		t, err := tensor.FromSlice(xs, len(xs))
		return []*tensor.Tensor{t}, err
	}
	t, err := tensor.FromStrings(labels, len(labels), 1)
	return []*tensor.Tensor{t}, err
}

// halfPlusTwo is the model of TensorFlow Serving's tests, y = x/2 + 2.
func halfPlusTwo() *servable.Func {
	shape := func(dims ...int64) *tensor_shape_go_proto.TensorShapeProto {
		s := &tensor_shape_go_proto.TensorShapeProto{UnknownRank: len(dims) == 0}
		for _, d := range dims {
			s.Dim = append(s.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: d})
		}
		return s
	}
	sig := func(method, in, input, out, output string) *pb.SignatureDef {
		s := def(method, in+" float32 "+input, out+" float32 "+output)
		s.Inputs[in].TensorShape, s.Outputs[out].TensorShape = shape(-1, 1), shape(-1, 1)
		if input == "tf_example:0" {
			s.Inputs[in].Dtype, s.Inputs[in].TensorShape = types_go_proto.DataType_DT_STRING, shape()
		}
		return s
	}
	return &servable.Func{Sigs: map[string]*pb.SignatureDef{
		"serving_default":   sig("predict", "x", "x:0", "y", "y:0"),
		"classify_x_to_y":   sig("classify", "inputs", "tf_example:0", "scores", "y:0"),
		"classify_x2_to_y3": sig("classify", "inputs", "x2:0", "scores", "y3:0"),
		"regress_x_to_y":    sig("regress", "inputs", "tf_example:0", "outputs", "y:0"),
		"regress_x_to_y2":   sig("regress", "inputs", "tf_example:0", "outputs", "y2:0"),
		"regress_x2_to_y3":  sig("regress", "inputs", "x2:0", "outputs", "y3:0"),
	}, Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		x := feeds["x:0"]
		if e := feeds["tf_example:0"]; e != nil {
			outs, err := computeExamples(ctx, map[string]*tensor.Tensor{"ex:0": e}, []string{"x:0"})
			if err != nil {
				return nil, err
			}
			x = outs[0]
			x.Shape = append(x.Shape, 1)
		}
		y := x.Clone()
		for i, v := range tensor.Values[float32](x) {
			tensor.Values[float32](y)[i] = v/2 + 2
		}
		return []*tensor.Tensor{y}, nil
	}}
}

// failing fails with the code that the signature names.
func failing() *servable.Func {
	sigs := map[string]*pb.SignatureDef{}
	for c := codes.Code(1); int(c) < len(codeNames); c++ {
		sigs[codeNames[c]] = def("predict", "x float32 x:0", fmt.Sprintf("y float32 %d:0", c))
	}
	sigs["waits"] = def("predict", "x float32 x:0", "y float32 waits:0")
	return &servable.Func{Sigs: sigs, Compute: func(ctx context.Context, _ map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		var c codes.Code
		if fetches[0] == "waits:0" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := fmt.Sscanf(fetches[0], "%d:0", &c)
		if err != nil {
			return nil, err
		}
		return nil, status.Error(c, "the model says \"no\"")
	}}
}

// service answers with models.
func service(m *servable.Memory) *inference.Service {
	return &inference.Service{Models: labelled{m}, Entrypoint: "REST"}
}

// TestStatusOfDamagedModel: errors may quote bytes that are not text.
func TestStatusOfDamagedModel(t *testing.T) {
	r := versionStatus(servable.Status{State: servable.End, Err: errors.New("invalid field name: \xff")})
	if got, want := r.Status.ErrorMessage, "invalid field name: \uFFFD"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}
