package inference_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// watch collects calls, and their messages.
type watch struct {
	calls               []inference.Call
	requests, responses []proto.Message
}

func (w *watch) Done(c inference.Call) {
	w.calls = append(w.calls, c)
	w.requests, w.responses = append(w.requests, c.Request()), append(w.responses, c.Response())
}

func vector(t testing.TB, v ...float32) *tensor.Tensor {
	x, err := tensor.FromSlice(v, len(v))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// text parses a message; "" means no message.
func text[T any, M interface {
	*T
	proto.Message
}](t testing.TB, s string) proto.Message {
	m := M(new(T))
	if err := prototext.Unmarshal([]byte(s), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPredictTensors(t *testing.T) {
	w := &watch{}
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{w}, Entrypoint: "REST"}
	spec := inference.Spec{Name: "m", Version: servable.Version{Number: 1, Exact: true}, Signature: "two"}
	p, err := s.PredictTensors(t.Context(), spec, map[string]*tensor.Tensor{"a": vector(t, 5, 7), "b": vector(t, 1, 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"diff", "sum"}, p.Names); diff != "" || p.ID != (servable.ID{Name: "m", Version: 1}) || p.Signature != "two" {
		t.Errorf("%+v %s", p, diff)
	}
	if diff := cmp.Diff([][]float32{{4, 5}, {6, 9}}, [][]float32{tensor.Values[float32](p.Tensors[0]), tensor.Values[float32](p.Tensors[1])}); diff != "" {
		t.Error(diff)
	}
	c := w.calls[0]
	if c.API != "Predict" || c.Entrypoint != "REST" || c.Model != "m" || c.ID.Version != 1 || c.Signature != "two" || c.Err != nil || c.Runtime > c.Latency || c.Start.IsZero() {
		t.Errorf("%+v", c)
	}
	dim := "tensor_shape { dim { size: 2 } }"
	if diff := cmp.Diff(text[apis.PredictRequest](t, `model_spec { name: "m" version { value: 1 } signature_name: "two" }
		inputs { key: "a" value { dtype: DT_FLOAT float_val: [5, 7] `+dim+` } } inputs { key: "b" value { dtype: DT_FLOAT float_val: [1, 2] `+dim+` } }`),
		w.requests[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(text[apis.PredictResponse](t, `model_spec { name: "m" version { value: 1 } signature_name: "two" }
		outputs { key: "diff" value { dtype: DT_FLOAT float_val: [4, 5] `+dim+` } } outputs { key: "sum" value { dtype: DT_FLOAT float_val: [6, 9] `+dim+` } }`),
		w.responses[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestPredictFromDecodesWithTheModelAtHand(t *testing.T) {
	w := &watch{}
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{w}}
	_, err := s.PredictFrom(t.Context(), inference.Spec{Name: "m", Signature: "two"}, func(sigs map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error) {
		if sigs["two"] == nil {
			t.Error("no signatures")
		}
		return nil, status.Error(codes.InvalidArgument, "JSON Parse error: The document is empty")
	}, nil)
	if status.Code(err) != codes.InvalidArgument || !errors.Is(w.calls[0].Err, err) || w.requests[0] != nil || w.responses[0] != nil {
		t.Errorf("%v, heard %+v", err, w.calls[0])
	}
	_, err = s.PredictFrom(t.Context(), inference.Spec{Name: "nobody"}, func(map[string]*pb.SignatureDef) (map[string]*tensor.Tensor, error) {
		t.Error("decoded without a model")
		return nil, nil
	}, nil)
	if status.Code(err) != codes.NotFound || w.calls[1].Model != "nobody" || w.calls[1].ID != (servable.ID{}) {
		t.Errorf("%v, heard %+v", err, w.calls[1])
	}
	_, err = s.PredictTensors(t.Context(), inference.Spec{Name: "m"}, map[string]*tensor.Tensor{"x": nil}, nil)
	if status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

func TestObserversOfExamples(t *testing.T) {
	w := &watch{}
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{w}}
	e := inference.Examples{Serialized: [][]byte{{}, []byte("\n\x00")}, Context: []byte("\n\x00")}
	c, err := s.ClassifyExamples(t.Context(), inference.Spec{Name: "m", Signature: "only_scores"}, e)
	if err != nil || c.Score(2) != 4 {
		t.Errorf("%v %v", c, err)
	}
	r, err := s.RegressExamples(t.Context(), inference.Spec{Name: "m", Signature: "regress"}, inference.Examples{Serialized: [][]byte{[]byte("abc"), {}}})
	if err != nil || r.Score(0) != 3 {
		t.Errorf("%v %v", r, err)
	}
	for i, want := range []proto.Message{
		text[apis.ClassificationRequest](t, `model_spec { name: "m" signature_name: "only_scores" } input { example_list_with_context { examples {} examples { features {} } context { features {} } } }`),
		text[apis.RegressionRequest](t, `model_spec { name: "m" signature_name: "regress" } input { example_list { examples {} examples {} } }`),
	} {
		sent, err := proto.Marshal(w.requests[i]) // the examples in it are serialized
		got := want.ProtoReflect().New().Interface()
		if err = errors.Join(err, proto.Unmarshal(sent, got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || w.calls[i].Examples != 2 {
			t.Errorf("%d examples, %s", w.calls[i].Examples, diff)
		}
	}
	for i, want := range []proto.Message{
		text[apis.ClassificationResponse](t, `model_spec { name: "m" version { value: 2 } signature_name: "only_scores" }
			result { classifications { classes { score: 2 } classes { score: 0.5 } } classifications { classes { score: 4 } classes { score: 0.5 } } }`),
		text[apis.RegressionResponse](t, `model_spec { name: "m" version { value: 2 } signature_name: "regress" } result { regressions { value: 3 } regressions { value: 0 } }`),
	} {
		if diff := cmp.Diff(want, w.responses[i], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMethodNames(t *testing.T) {
	s := &inference.Service{Models: modeltest.Source(), CheckMethods: true}
	spec := &apis.ModelSpec{Name: "m", SignatureName: "no_method"}
	in := text[apis.Input](t, `example_list { examples {} }`).(*apis.Input)
	_, predict := s.Predict(t.Context(), &apis.PredictRequest{ModelSpec: spec})
	_, classify := s.Classify(t.Context(), &apis.ClassificationRequest{ModelSpec: spec, Input: in})
	_, regress := s.Regress(t.Context(), &apis.RegressionRequest{ModelSpec: spec, Input: in})
	for _, tc := range []struct {
		err  error
		code codes.Code
		text string
	}{
		{predict, codes.Internal, "Expected prediction signature method_name to be one of {tensorflow/serving/predict, tensorflow/serving/classify, tensorflow/serving/regress}. Was: "},
		{classify, codes.InvalidArgument, "Expected classification signature method_name to be tensorflow/serving/classify. Was: "},
		{regress, codes.InvalidArgument, "Expected regression signature method_name to be tensorflow/serving/regress. Was: "},
	} {
		if st := status.Convert(tc.err); st.Code() != tc.code || st.Message() != tc.text {
			t.Errorf("got %v", tc.err)
		}
	}
}

// counted counts the handles in use.
type counted struct {
	servable.Source
	out *atomic.Int32
}

func (c counted) Acquire(name string, v servable.Version) (servable.Handle, error) {
	h, err := c.Source.Acquire(name, v)
	if err == nil {
		c.out.Add(1)
		h = lease{h, c.out}
	}
	return h, err
}

type lease struct {
	servable.Handle
	out *atomic.Int32
}

func (l lease) Release() { l.out.Add(-1) }

func TestHandlesAreReleased(t *testing.T) {
	var out atomic.Int32
	s := &inference.Service{Models: counted{modeltest.Source(), &out}}
	in := map[string]*tensor.Tensor{"x": vector(t, 1)}
	for _, sig := range []string{"", "nothing", "panics", "fails", "two", "few", "broken"} {
		_, _ = s.PredictTensors(t.Context(), inference.Spec{Name: "m", Signature: sig}, in, nil)
		_, _ = s.ClassifyExamples(t.Context(), inference.Spec{Name: "m", Signature: sig}, inference.Examples{})
		_, _ = s.RegressExamples(t.Context(), inference.Spec{Name: "m", Signature: sig}, inference.Examples{})
	}
	_, _ = s.GetModelMetadata(t.Context(), &apis.GetModelMetadataRequest{ModelSpec: &apis.ModelSpec{Name: "m"}, MetadataField: []string{"signature_def"}})
	if out.Load() != 0 {
		t.Errorf("%d handles were kept", out.Load())
	}
}

func TestMetadata(t *testing.T) {
	s := &inference.Service{Models: modeltest.Source()}
	r, err := s.GetModelMetadata(t.Context(), &apis.GetModelMetadataRequest{ModelSpec: &apis.ModelSpec{Name: "m", SignatureName: "nothing"}, MetadataField: []string{"signature_def", "signature_def"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text[apis.ModelSpec](t, `name: "m" version { value: 2 }`), proto.Message(r.GetModelSpec()), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	sigs := &apis.SignatureDefMap{}
	if err := r.GetMetadata()["signature_def"].UnmarshalTo(sigs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&apis.SignatureDefMap{SignatureDef: modeltest.New().Sigs}, sigs, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestContent(t *testing.T) {
	s := &inference.Service{Models: modeltest.Source(), Content: true}
	r, err := s.Predict(t.Context(), text[apis.PredictRequest](t, `model_spec { name: "m" } inputs { key: "x" value { dtype: DT_FLOAT float_val: -2 } }`).(*apis.PredictRequest))
	if y := r.GetOutputs()["y"]; err != nil || len(y.GetFloatVal()) > 0 || string(y.GetTensorContent()) != "\x00\x00\x80\x3f" {
		t.Errorf("%v %v", r, err)
	}
}

// TestLongNames: a name is refused if it is too long for errors to repeat.
func TestLongNames(t *testing.T) {
	s := &inference.Service{Models: modeltest.Source()}
	for _, c := range []struct {
		size int
		long bool
	}{{4096, false}, {4097, true}, {1 << 20, true}} {
		name := strings.Repeat("\x1b", c.size)
		label := &apis.ModelSpec{Name: "m", VersionChoice: &apis.ModelSpec_VersionLabel{VersionLabel: name}}
		for _, spec := range []*apis.ModelSpec{{Name: name}, {Name: "m", SignatureName: name}, label} {
			_, predict := s.Predict(t.Context(), &apis.PredictRequest{ModelSpec: spec})
			_, multi := s.MultiInference(t.Context(), &apis.MultiInferenceRequest{Tasks: []*apis.InferenceTask{{ModelSpec: spec, MethodName: inference.ClassifyMethod}}})
			for _, err := range []error{predict, multi} {
				if err == nil || (status.Code(err) == codes.InvalidArgument && strings.Contains(err.Error(), "expected at most 4096")) != c.long {
					t.Errorf("%d bytes: %.200v", c.size, err)
				}
			}
		}
	}
}

func TestContextIsOver(t *testing.T) {
	s := &inference.Service{Models: modeltest.Source()}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := s.PredictTensors(ctx, inference.Spec{Name: "m"}, map[string]*tensor.Tensor{"x": vector(t, 1)}, nil)
	if st := status.Convert(err); st.Code() != codes.Canceled || !strings.Contains(st.Message(), "cancelled") {
		t.Error(err)
	}
}
