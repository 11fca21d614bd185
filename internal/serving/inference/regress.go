package inference

import (
	"context"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
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
	result, err := s.regress(ctx, &call, spec, func() (Examples, error) { return examplesOf(r.GetInput(), budget.Of(ctx)) })
	if err != nil {
		return nil, err
	}
	m, err := result.regressions(budget.Of(ctx))
	if err != nil {
		return nil, err
	}
	resp = &apis.RegressionResponse{ModelSpec: spec.resolved(result.ID), Result: m}
	call.response = resp
	return resp, nil
}

// RegressExamples is Regress for serialized examples, without messages.
func (s *Service) RegressExamples(ctx context.Context, spec Spec, examples Examples) (r *Result, err error) {
	call := s.begin("Regress", spec)
	call.tensors = &tensorCall{spec: spec, examples: &examples}
	defer func() { s.end(&call, err) }()
	if r, err = s.regress(ctx, &call, spec, func() (Examples, error) { return examples, nil }); err != nil {
		return nil, err
	}
	call.tensors.result = r
	return r, nil
}

func (s *Service) regress(ctx context.Context, call *Call, spec Spec, examples func() (Examples, error)) (*Result, error) {
	h, err := s.acquire(ctx, call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	t, outs, err := s.oneShot(ctx, call, h.Model(), oneShot{key: spec.key(), method: RegressMethod, examples: examples})
	if err != nil {
		return nil, err
	}
	return t.regressed(h.ID(), call.Examples, outs)
}

// regressed checks the model's outputs for n examples.
func (t task) regressed(id servable.ID, n int, outs map[string]*tensor.Tensor) (*Result, error) {
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
	return &Result{ID: id, Examples: n, Width: 1, Scores: tensor.Values[float32](y)}, nil
}

// checkStorage refuses a tensor whose elements do not fit its shape.
func checkStorage(t *tensor.Tensor) error {
	if n := t.Len(); t.DType == tensor.String && len(t.Strings) != n || t.DType != tensor.String && len(t.Bytes) != n*t.DType.Size() {
		return status.Errorf(codes.Internal, "the model answered a tensor of %v%v with %d bytes and %d strings", t.DType, t.Shape, len(t.Bytes), len(t.Strings))
	}
	return nil
}
