package client

import (
	"context"
	"fmt"
	"reflect"

	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Inputs are values by the signature's input names: numbers, bools, strings, slices of these nested as deep as the
// tensor has dimensions, or a Tensor. A []byte is one string of bytes; for a tensor of uint8 use a Tensor.
type Inputs map[string]any

// Prediction is the result of Predict.
type Prediction struct {
	Version   int64 // the version that was run
	Signature string
	Outputs   map[string]Tensor
}

// Predict runs a model. It returns the outputs with the given names; without names, all.
func (c *Client) Predict(ctx context.Context, m Model, in Inputs, outputs ...string) (*Prediction, error) {
	req := &apis.PredictRequest{ModelSpec: m.spec(), OutputFilter: outputs, Inputs: make(map[string]*tensor_go_proto.TensorProto, len(in))}
	for name, v := range in {
		t, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
		req.Inputs[name] = t
	}
	resp := &apis.PredictResponse{}
	if err := c.call(ctx, "PredictionService/Predict", req, resp); err != nil {
		return nil, err
	}
	p := &Prediction{Version: resp.GetModelSpec().GetVersion().GetValue(), Signature: resp.GetModelSpec().GetSignatureName(),
		Outputs: make(map[string]Tensor, len(resp.GetOutputs()))}
	for name, t := range resp.GetOutputs() {
		out, err := decode(t)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		p.Outputs[name] = out
	}
	return p, nil
}

// Output returns an output as a T: a number, bool, string or []byte for a scalar, a slice of these for a vector, a slice
// of slices for a matrix, and so on. It fails if the output is missing or has another type or rank.
func Output[T any](p *Prediction, name string) (T, error) {
	var out T
	t, ok := p.Outputs[name]
	if !ok {
		return out, fmt.Errorf("output %s: the model did not return it", name)
	}
	if err := t.as(reflect.ValueOf(&out).Elem()); err != nil {
		return out, fmt.Errorf("output %s: %w", name, err)
	}
	return out, nil
}
