package inference_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// service answers with the test model without the signatures that wait or panic.
func service() *inference.Service {
	m := modeltest.New()
	delete(m.Sigs, "waits")
	delete(m.Sigs, "panics")
	src := &servable.Memory{}
	src.Set(servable.ID{Name: "m", Version: 1}, m)
	return &inference.Service{Models: src}
}

// large reports whether a few bytes stand for a large tensor: allowed, but slow.
func large(r *apis.PredictRequest) bool {
	for _, in := range r.GetInputs() {
		n := 1.
		for _, d := range in.GetTensorShape().GetDim() {
			n *= float64(d.GetSize())
		}
		if n > 1<<16 && n < 1<<28 {
			return true
		}
	}
	return false
}

func FuzzPredict(f *testing.F) {
	for _, s := range []string{
		`model_spec { name: "m" } inputs { key: "x" value { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [1, 2] } } output_filter: "y"`,
		`model_spec { name: "m" signature_name: "string" } inputs { key: "x" value { dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\002abc" } }`,
		`model_spec { name: "m" signature_name: "bool" version { value: 1 } } inputs { key: "x" value { dtype: DT_BOOL tensor_shape { dim { size: 2 } } tensor_content: "\001\002" } }`,
		`model_spec { name: "m" signature_name: "float16" } inputs { key: "x" value { dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 1 } }`,
		`model_spec { name: "m" signature_name: "two" } inputs { key: "a" value { dtype: DT_FLOAT } } inputs { key: "b" value { dtype: DT_FLOAT tensor_shape { dim { size: 0 } } } }`,
		`model_spec { name: "m" signature_name: "defaults" version_label: "" }`,
	} {
		r := &apis.PredictRequest{}
		if err := prototext.Unmarshal([]byte(s), r); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s := service()
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &apis.PredictRequest{}
		if proto.Unmarshal(b, r) != nil || large(r) {
			return
		}
		before := proto.Clone(r)
		resp, err := s.Predict(t.Context(), r)
		if !proto.Equal(before, r) {
			t.Error("the request was changed")
		}
		if err != nil {
			if st, ok := status.FromError(err); !ok || st.Code() == codes.OK {
				t.Errorf("an error without a status: %v", err)
			}
			return
		}
		if _, err := proto.Marshal(resp); err != nil {
			t.Errorf("a response that cannot be sent: %v", err)
		}
	})
}
