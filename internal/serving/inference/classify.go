package inference

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Classify implements PredictionService.Classify.
func (s *Service) Classify(ctx context.Context, r *apis.ClassificationRequest) (resp *apis.ClassificationResponse, err error) {
	spec, err := specOf(r.GetModelSpec())
	call := s.begin("Classify", spec)
	call.request = r
	defer func() { s.end(&call, err) }()
	if err != nil {
		return nil, err
	}
	result, err := s.classify(ctx, &call, spec, func() (Examples, error) { return examplesOf(r.GetInput(), budget.Of(ctx)) })
	if err != nil {
		return nil, err
	}
	m, err := result.classifications(budget.Of(ctx))
	if err != nil {
		return nil, err
	}
	resp = &apis.ClassificationResponse{ModelSpec: spec.resolved(result.ID), Result: m}
	call.response = resp
	return resp, nil
}

// ClassifyExamples is Classify for serialized examples, without messages.
func (s *Service) ClassifyExamples(ctx context.Context, spec Spec, examples Examples) (r *Result, err error) {
	call := s.begin("Classify", spec)
	call.tensors = &tensorCall{spec: spec, examples: &examples}
	defer func() { s.end(&call, err) }()
	if r, err = s.classify(ctx, &call, spec, func() (Examples, error) { return examples, nil }); err != nil {
		return nil, err
	}
	call.tensors.result = r
	return r, nil
}

func (s *Service) classify(ctx context.Context, call *Call, spec Spec, examples func() (Examples, error)) (*Result, error) {
	h, err := s.acquire(ctx, call, spec)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	t, outs, err := s.oneShot(ctx, call, h.Model(), oneShot{key: spec.key(), method: ClassifyMethod, examples: examples})
	if err != nil {
		return nil, err
	}
	return t.classified(h.ID(), call.Examples, outs)
}

// task is a classification or regression by one signature.
type task struct {
	method  string
	input   string   // the tensor that takes the examples
	outputs []string // the tensors to fetch
	classes string   // "" if the signature has none
	scores  string   // likewise; for a regression the outputs
}

// oneShot is a Classify or Regress call.
type oneShot struct {
	key, method string
	examples    func() (Examples, error)
}

// oneShot runs a classification or regression and returns its outputs by tensor name.
func (s *Service) oneShot(ctx context.Context, call *Call, m servable.Model, o oneShot) (task, map[string]*tensor.Tensor, error) {
	def := signature(m, o.key)
	if def == nil {
		return task{}, nil, invalid("No signature was found with the name: %s", o.key)
	}
	t, err := s.taskOf(def, o.method)
	if err != nil {
		return t, nil, err
	}
	examples, err := o.examples()
	if err != nil {
		return t, nil, err
	}
	outs, err := s.runExamples(ctx, call, m, examples, []string{t.input}, t.outputs)
	return t, outs, err
}

// runExamples feeds the examples to each of inputs.
func (s *Service) runExamples(ctx context.Context, call *Call, m servable.Model, e Examples, inputs, fetches []string) (map[string]*tensor.Tensor, error) {
	a := budget.Of(ctx)
	x, taken, err := tensorOf(e, a)
	if err != nil {
		return nil, err
	}
	defer a.Release(taken)
	call.Examples = x.Shape[0]
	feeds := make(map[string]*tensor.Tensor, len(inputs))
	for _, name := range inputs {
		feeds[name] = x
	}
	outs, err := s.run(ctx, call, m, feeds, fetches)
	if err != nil {
		return nil, err
	}
	if len(outs) != len(fetches) || slices.Contains(outs, nil) {
		return nil, invalid("Expected %d output tensor(s).  Got: %d", len(fetches), len(outs))
	}
	byName := make(map[string]*tensor.Tensor, len(outs))
	for i, name := range fetches {
		byName[name] = outs[i]
	}
	return byName, nil
}

// taskOf checks that a signature classifies or regresses.
func (s *Service) taskOf(def *pb.SignatureDef, method string) (task, error) {
	kind := strings.TrimPrefix(method, "tensorflow/serving/")
	noun := map[string]string{ClassifyMethod: "classification", RegressMethod: "regression"}[method]
	in, outs := def.GetInputs(), def.GetOutputs()
	switch {
	case s.CheckMethods && def.GetMethodName() != method:
		return task{}, invalid("Expected %s signature method_name to be %s. Was: %s", noun, method, def.GetMethodName())
	case len(in) != 1:
		return task{}, invalid("Expected one input Tensor.")
	case kind == "classify" && len(outs) != 1 && len(outs) != 2:
		return task{}, invalid("Expected one or two output Tensors, found %d", len(outs))
	case kind == "regress" && len(outs) != 1:
		return task{}, invalid("Expected one output Tensor.")
	case in["inputs"] == nil:
		return task{}, invalid("No %s inputs found in SignatureDef: %s", noun, debugString(def))
	}
	t := task{method: method, input: in["inputs"].GetName()}
	if kind == "regress" {
		if outs["outputs"] == nil {
			return task{}, invalid("No regression outputs found in SignatureDef: %s", debugString(def))
		}
		t.scores = outs["outputs"].GetName()
		t.outputs = []string{t.scores}
		return t, nil
	}
	if outs["classes"] == nil && outs["scores"] == nil {
		return task{}, invalid("Expected classification signature outputs to contain at least one of \"classes\" or \"scores\". Signature was: %s", debugString(def))
	}
	if o := outs["classes"]; o != nil {
		t.classes = o.GetName()
		t.outputs = append(t.outputs, t.classes)
	}
	if o := outs["scores"]; o != nil {
		t.scores = o.GetName()
		t.outputs = append(t.outputs, t.scores)
	}
	return t, nil
}

// classified checks the model's outputs for n examples.
func (t task) classified(id servable.ID, n int, outs map[string]*tensor.Tensor) (*Result, error) {
	classes, scores := outs[t.classes], outs[t.scores]
	if err := checkClasses(classes, "classes", tensor.String, n); err != nil {
		return nil, err
	}
	if err := checkClasses(scores, "scores", tensor.Float32, n); err != nil {
		return nil, err
	}
	r := &Result{ID: id, Examples: n}
	if classes != nil {
		r.Width, r.Labels = classes.Shape[1], classes.Strings
	}
	if scores != nil {
		if classes != nil && classes.Shape[1] != scores.Shape[1] {
			return nil, invalid("Tensors class and score should match in dim_size(1). Got %d vs. %d", classes.Shape[1], scores.Shape[1])
		}
		r.Width, r.Scores = scores.Shape[1], tensor.Values[float32](scores)
	}
	return r, nil
}

// checkClasses checks the type and shape, [n, any], of an output of a classification.
func checkClasses(t *tensor.Tensor, what string, d tensor.DType, n int) error {
	switch {
	case t == nil:
		return nil
	case len(t.Shape) != 2:
		return invalid("Expected Tensor shape: [batch_size num_classes] but got %s", shapeString(t.Shape))
	case t.DType != d:
		return invalid("Expected %s Tensor of %v. Got: %v", what, types_go_proto.DataType(d), types_go_proto.DataType(t.DType))
	case t.Shape[0] != n:
		return invalid("Expected %s output batch size of %d. Got: %d", what, n, t.Shape[0])
	}
	return checkStorage(t)
}

// shapeString is TensorFlow's form, "[2,3]".
func shapeString(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
}
