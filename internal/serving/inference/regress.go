package inference

import (
	"context"
	"unsafe"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Regress implements PredictionService.Regress.
func (s *Service) Regress(ctx context.Context, r *apis.RegressionRequest) (resp *apis.RegressionResponse, err error) {
	spec, err := specOf(r.GetModelSpec())
	call := s.begin("Regress", spec)
	call.request = r
	defer func() { s.end(&call, err) }()
	if err != nil {
		return nil, err
	}
	resp, err = s.regress(ctx, &call, spec, func() (Examples, error) { return examplesOf(r.GetInput(), budget.Of(ctx)) })
	if err == nil {
		call.response = resp
	}
	return resp, err
}

// RegressExamples is Regress of serialized examples.
func (s *Service) RegressExamples(ctx context.Context, spec Spec, examples Examples) (resp *apis.RegressionResponse, err error) {
	call := s.begin("Regress", spec)
	call.tensors = &tensorCall{spec: spec, examples: &examples}
	defer func() { s.end(&call, err) }()
	resp, err = s.regress(ctx, &call, spec, func() (Examples, error) { return examples, nil })
	if err == nil {
		call.response = resp
	}
	return resp, err
}

func (s *Service) regress(ctx context.Context, call *Call, spec Spec, examples func() (Examples, error)) (*apis.RegressionResponse, error) {
	h, err := s.acquire(ctx, call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	t, outs, err := s.oneShot(ctx, call, h.Model(), oneShot{key: spec.key(), method: RegressMethod, examples: examples})
	if err != nil {
		return nil, err
	}
	result, err := t.regressions(budget.Of(ctx), call.Examples, outs)
	if err != nil {
		return nil, err
	}
	return &apis.RegressionResponse{ModelSpec: spec.resolved(h.ID()), Result: result}, nil
}

// regressions makes the answer of n examples.
func (t task) regressions(a *budget.Account, n int, outs map[string]*tensor.Tensor) (*apis.RegressionResult, error) {
	y := outs[t.scores]
	switch {
	case y == nil:
		return nil, invalid("Could not find output tensor '%s'", t.scores)
	case len(y.Shape) != 1 && (len(y.Shape) != 2 || y.Shape[1] != 1):
		return nil, invalid("Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got %s", shapeString(y.Shape))
	case y.Shape[0] != n:
		return nil, invalid("Input batch size did not match output batch size: %d vs. %d", n, y.Shape[0])
	case y.DType != tensor.Float32:
		return nil, invalid("Expected output Tensor of DT_FLOAT.  Got: %v", types_go_proto.DataType(y.DType))
	}
	if err := checkStorage(y); err != nil {
		return nil, err
	}
	if err := a.ReserveArray(n, int(unsafe.Sizeof(apis.Regression{})+pointer)); err != nil {
		return nil, err
	}
	all := make([]apis.Regression, n)
	r := &apis.RegressionResult{Regressions: make([]*apis.Regression, n)}
	for i, v := range tensor.Values[float32](y) {
		all[i].Value = v
		r.Regressions[i] = &all[i]
	}
	return r, nil
}

// checkStorage refuses a tensor whose elements do not fit its shape.
func checkStorage(t *tensor.Tensor) error {
	if n := t.Len(); t.DType == tensor.String && len(t.Strings) != n || t.DType != tensor.String && len(t.Bytes) != n*t.DType.Size() {
		return status.Errorf(codes.Internal, "the model answered a tensor of %v%v with %d bytes and %d strings", t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	return nil
}
