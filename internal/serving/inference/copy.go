package inference

import (
	"context"
	"slices"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Copy is an answered call that can be made again after its messages are gone.
type Copy struct {
	Model  string
	Answer Answer

	request        proto.Message // nil: a call without messages, which has the rest
	api, signature string
	inputs         map[string]*tensor.Tensor
	filter         []string
	examples       *Examples
}

// Answer holds a model's outputs as tensors by name. For Classify, Regress and MultiInference these are the classes and scores of all
// examples, one after the other.
type Answer map[string]*tensor.Tensor

// Copy copies the request and the answer. It must be called before Done returns; ok is false for a call that no model has answered.
func (c Call) Copy() (out Copy, ok bool) {
	if c.Err != nil || c.Runtime == 0 {
		return out, false
	}
	out = Copy{Model: c.ID.Name, api: c.API, signature: c.Signature}
	t := c.tensors
	switch {
	case t == nil:
		out.request = proto.Clone(c.request)
	case t.examples != nil:
		e := Examples{Context: slices.Clone(t.examples.Context), Serialized: cloneAll(t.examples.Serialized)}
		out.examples = &e
	default:
		out.filter, out.inputs = slices.Clone(t.filter), map[string]*tensor.Tensor{}
		for name, x := range t.inputs {
			out.inputs[name] = clone(x)
		}
	}
	var answer Answer
	switch {
	case t != nil && t.prediction != nil:
		answer = t.prediction.answer()
	case t != nil:
		answer = t.result.answer(c.API == "Regress")
	default:
		var err error
		if answer, err = answerOf(c.response); err != nil {
			return out, false
		}
	}
	for name, x := range answer {
		answer[name] = clone(x)
	}
	out.Answer = answer
	return out, true
}

// Again makes a call once more, with a version of the model. A copy can be used once: the model's answer may share its memory.
func (s *Service) Again(ctx context.Context, c Copy, version int64) (Answer, error) {
	if c.request == nil {
		return s.againTensors(ctx, c, version)
	}
	var resp proto.Message
	var err error
	switch r := c.request.(type) {
	case *apis.PredictRequest:
		pin(r.GetModelSpec(), version)
		resp, err = s.Predict(ctx, r)
	case *apis.ClassificationRequest:
		pin(r.GetModelSpec(), version)
		resp, err = s.Classify(ctx, r)
	case *apis.RegressionRequest:
		pin(r.GetModelSpec(), version)
		resp, err = s.Regress(ctx, r)
	case *apis.MultiInferenceRequest:
		for _, t := range r.GetTasks() {
			pin(t.GetModelSpec(), version)
		}
		resp, err = s.MultiInference(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return answerOf(resp)
}

// againTensors is Again for a call without messages.
func (s *Service) againTensors(ctx context.Context, c Copy, version int64) (Answer, error) {
	spec := Spec{Name: c.Model, Signature: c.signature, Version: servable.Version{Number: version, Exact: true}}
	if c.examples == nil {
		p, err := s.PredictTensors(ctx, spec, c.inputs, c.filter)
		if err != nil {
			return nil, err
		}
		return p.answer(), nil
	}
	again, regression := s.ClassifyExamples, c.api == "Regress"
	if regression {
		again = s.RegressExamples
	}
	r, err := again(ctx, spec, *c.examples)
	if err != nil {
		return nil, err
	}
	return r.answer(regression), nil
}

// pin makes a spec name a version.
func pin(m *apis.ModelSpec, version int64) {
	m.VersionChoice = &apis.ModelSpec_Version{Version: wrapperspb.Int64(version)}
}

// answer returns the outputs by alias.
func (p *Prediction) answer() Answer {
	a := Answer{}
	for i, name := range p.Names {
		a[name] = p.Tensors[i]
	}
	return a
}

// answerOf reads a response, whose memory the answer may share.
func answerOf(resp proto.Message) (Answer, error) {
	a := Answer{}
	switch r := resp.(type) {
	case *apis.PredictResponse:
		for name, t := range r.GetOutputs() {
			x, err := graphdef.ViewTensorProto(t, nil)
			if err != nil {
				return nil, err
			}
			a[name] = x
		}
	case *apis.ClassificationResponse:
		a.addClasses("", r.GetResult())
	case *apis.RegressionResponse:
		a.addValues("", r.GetResult())
	case *apis.MultiInferenceResponse:
		for _, t := range r.GetResults() {
			key := t.GetModelSpec().GetSignatureName() + "/"
			a.addClasses(key, t.GetClassificationResult())
			a.addValues(key, t.GetRegressionResult())
		}
	}
	return a, nil
}

func (a Answer) addClasses(prefix string, r *apis.ClassificationResult) {
	if r == nil {
		return
	}
	var labels [][]byte
	var scores []float32
	for _, row := range r.GetClassifications() {
		for _, c := range row.GetClasses() {
			labels, scores = append(labels, []byte(c.GetLabel())), append(scores, c.GetScore())
		}
	}
	a[prefix+"classes"] = &tensor.Tensor{DType: tensor.String, Shape: []int{len(labels)}, Strings: labels}
	a[prefix+"scores"] = vector(scores)
}

func (a Answer) addValues(prefix string, r *apis.RegressionResult) {
	if r == nil {
		return
	}
	var values []float32
	for _, v := range r.GetRegressions() {
		values = append(values, v.GetValue())
	}
	a[prefix+"values"] = vector(values)
}

func vector(values []float32) *tensor.Tensor {
	t := tensor.New(tensor.Float32, len(values))
	copy(tensor.Values[float32](t), values)
	return t
}

// clone copies the data that a tensor has, whatever its shape says.
func clone(t *tensor.Tensor) *tensor.Tensor {
	return &tensor.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape), Bytes: slices.Clone(t.Bytes), Strings: cloneAll(t.Strings)}
}

func cloneAll(all [][]byte) [][]byte {
	if all == nil {
		return nil
	}
	out := make([][]byte, len(all))
	for i, b := range all {
		out[i] = slices.Clone(b)
	}
	return out
}
