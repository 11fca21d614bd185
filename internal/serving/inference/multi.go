package inference

import (
	"context"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// MultiInference implements PredictionService.MultiInference: classifications and regressions of the same examples in
// one run of the model. The first task chooses the version.
func (s *Service) MultiInference(ctx context.Context, r *apis.MultiInferenceRequest) (resp *apis.MultiInferenceResponse, err error) {
	first := &apis.ModelSpec{}
	if len(r.GetTasks()) > 0 && r.GetTasks()[0].GetModelSpec() != nil {
		first = r.GetTasks()[0].GetModelSpec()
	}
	spec, err := specOf(first)
	call := s.begin("MultiInference", spec)
	call.request = r
	defer func() { s.end(&call, err) }()
	if err != nil {
		return nil, err
	}
	h, err := s.acquire(ctx, &call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	tasks, err := s.tasksOf(h.Model(), r.GetTasks())
	if err != nil {
		return nil, err
	}
	if resp, err = s.multi(ctx, &call, h, r, tasks); err != nil {
		return nil, err
	}
	call.response = resp
	return resp, nil
}

// tasksOf checks all tasks of a request.
func (s *Service) tasksOf(m servable.Model, in []*apis.InferenceTask) ([]task, error) {
	var tasks []task
	seen := map[string]bool{}
	for _, it := range in {
		if err := CheckNames(it.GetModelSpec()); err != nil {
			return nil, err
		}
		name, key := it.GetModelSpec().GetName(), Spec{Signature: it.GetModelSpec().GetSignatureName()}.key()
		def := signature(m, key)
		switch {
		case name == "":
			return nil, invalid("Found ModelSpec with an empty model name.")
		case name != in[0].GetModelSpec().GetName():
			return nil, invalid("All ModelSpecs in a MultiInferenceRequest must access the same model name.")
		case seen[key]:
			return nil, invalid("Duplicate evaluation of signature: %s", key)
		case def == nil:
			return nil, invalid("Requested signature not found in model graph: %s", key)
		case it.GetMethodName() != ClassifyMethod && it.GetMethodName() != RegressMethod:
			return nil, status.Errorf(codes.Unimplemented, "Unsupported signature method_name: %s", it.GetMethodName())
		}
		seen[key] = true
		t, err := s.taskOf(def, it.GetMethodName())
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

func (s *Service) multi(ctx context.Context, call *Call, h servable.Handle, r *apis.MultiInferenceRequest, tasks []task) (*apis.MultiInferenceResponse, error) {
	var inputs, fetches []string
	for _, t := range tasks {
		inputs = append(inputs, t.input)
		fetches = append(fetches, t.outputs...)
	}
	slices.Sort(inputs)
	slices.Sort(fetches)
	examples, err := examplesOf(r.GetInput(), budget.Of(ctx))
	if err != nil {
		return nil, err
	}
	outs, err := s.runExamples(ctx, call, h.Model(), examples, slices.Compact(inputs), slices.Compact(fetches))
	if err != nil {
		return nil, err
	}
	resp := &apis.MultiInferenceResponse{}
	for i, t := range tasks {
		m := r.GetTasks()[i].GetModelSpec()
		res := &apis.InferenceResult{ModelSpec: Spec{Name: m.GetName(), Signature: m.GetSignatureName()}.resolved(h.ID())}
		if err := t.fill(budget.Of(ctx), res, call.Examples, outs); err != nil {
			return nil, err
		}
		resp.Results = append(resp.Results, res)
	}
	return resp, nil
}

// fill sets the result of a task.
func (t task) fill(a *budget.Account, to *apis.InferenceResult, n int, outs map[string]*tensor.Tensor) error {
	if t.method == RegressMethod {
		r, err := t.regressed(servable.ID{}, n, outs)
		if err != nil {
			return err
		}
		m, err := r.regressions(a)
		to.Result = &apis.InferenceResult_RegressionResult{RegressionResult: m}
		return err
	}
	r, err := t.classified(servable.ID{}, n, outs)
	if err != nil {
		return err
	}
	m, err := r.classifications(a)
	to.Result = &apis.InferenceResult_ClassificationResult{ClassificationResult: m}
	return err
}
