package openinference

import (
	"context"
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"github.com/goestimator/goestimator/tensor"
)

// ModelInfer implements the protocol. The answer is raw if the request is, or if the type of an output has no typed
// contents.
func (s *Service) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	q := Request{Model: r.GetModelName(), Version: r.GetModelVersion(), Inputs: len(r.GetInputs()),
		Decode: func() (map[string]*tensor.Tensor, error) { return inputsOf(r, budget.Of(ctx)) }}
	if p, ok := r.GetParameters()[SignatureParameter]; ok {
		if _, ok := p.GetParameterChoice().(*pb.InferParameter_StringParam); !ok {
			return nil, invalid("parameter %s: expected a string", SignatureParameter)
		}
		q.Signature = p.GetStringParam()
	}
	for _, o := range r.GetOutputs() {
		for _, refused := range RefusedOfOutputs {
			if _, ok := o.GetParameters()[refused]; ok {
				return nil, invalid("output %q: parameter %s: the extension is not there", short(o.GetName()), refused)
			}
		}
		q.Outputs = append(q.Outputs, o.GetName())
	}
	p, err := s.Infer(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer(p, r, budget.Of(ctx))
}

// inputsOf makes the inputs of a request.
func inputsOf(r *pb.ModelInferRequest, a *budget.Account) (map[string]*tensor.Tensor, error) {
	raw, in := r.GetRawInputContents(), r.GetInputs()
	if len(raw) > 0 && len(raw) != len(in) {
		return nil, invalid("raw_input_contents has %d elements, expected one for each of %d inputs, or none", len(raw), len(in))
	}
	return Collect(len(in), func(i int) (string, *tensor.Tensor, error) {
		d := Input{in[i].GetName(), in[i].GetDatatype(), in[i].GetShape()}
		if len(raw) == 0 {
			t, err := d.Typed(in[i].GetContents(), a)
			return d.Name, t, err
		}
		if in[i].GetContents() != nil {
			return "", nil, invalid("input %q has contents beside raw_input_contents: expected one of them", short(d.Name))
		}
		t, err := d.Raw(raw[i], a)
		return d.Name, t, err
	})
}

// answer makes the response. The account pays for copies.
func answer(p *inference.Prediction, r *pb.ModelInferRequest, a *budget.Account) (*pb.ModelInferResponse, error) {
	raw, size := len(r.GetRawInputContents()) > 0, 0
	for _, t := range p.Tensors {
		raw = raw || contents[t.DType] == nil
		size += max(RawSize(t), 4*t.Len()) // its encoded form is paid for when it is made
	}
	if err := a.ReserveModel(size); err != nil {
		return nil, err
	}
	out := &pb.ModelInferResponse{ModelName: r.GetModelName(), ModelVersion: strconv.FormatInt(p.ID.Version, 10), Id: r.GetId()}
	for i, t := range p.Tensors {
		o := &pb.ModelInferResponse_InferOutputTensor{Name: p.Names[i], Datatype: Datatype(t.DType), Shape: shape(t)}
		if raw {
			out.RawOutputContents = append(out.RawOutputContents, AppendRaw(make([]byte, 0, RawSize(t)), t))
		} else {
			o.Contents = typed(t)
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out, nil
}

func shape(t *tensor.Tensor) []int64 {
	s := make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		s[i] = int64(d)
	}
	return s
}
