package client

import (
	"context"
	"fmt"

	ex "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
)

// Example is a row of features by name: a float32, float64, int, int32, int64, bool, string or []byte, or a slice of
// float32, float64, int, int64, string or []byte.
type Example map[string]any

// Class is the result of a classification for one class.
type Class struct {
	Label string
	Score float32
}

// Classify classifies examples. It returns the classes of each, in the model's order.
func (c *Client) Classify(ctx context.Context, m Model, examples ...Example) ([][]Class, error) {
	in, err := input(examples)
	if err != nil {
		return nil, err
	}
	resp := &apis.ClassificationResponse{}
	if err := c.call(ctx, "PredictionService/Classify", &apis.ClassificationRequest{ModelSpec: m.spec(), Input: in}, resp); err != nil {
		return nil, err
	}
	rows := make([][]Class, len(resp.GetResult().GetClassifications()))
	for i, r := range resp.GetResult().GetClassifications() {
		for _, k := range r.GetClasses() {
			rows[i] = append(rows[i], Class{Label: k.GetLabel(), Score: k.GetScore()})
		}
	}
	return rows, nil
}

// Regress returns a value for each example.
func (c *Client) Regress(ctx context.Context, m Model, examples ...Example) ([]float32, error) {
	in, err := input(examples)
	if err != nil {
		return nil, err
	}
	resp := &apis.RegressionResponse{}
	if err := c.call(ctx, "PredictionService/Regress", &apis.RegressionRequest{ModelSpec: m.spec(), Input: in}, resp); err != nil {
		return nil, err
	}
	values := make([]float32, len(resp.GetResult().GetRegressions()))
	for i, r := range resp.GetResult().GetRegressions() {
		values[i] = r.GetValue()
	}
	return values, nil
}

func input(examples []Example) (*apis.Input, error) {
	list := make([]*ex.Example, len(examples))
	for i, e := range examples {
		f := make(map[string]*ex.Feature, len(e))
		for name, v := range e {
			var err error
			if f[name], err = feature(v); err != nil {
				return nil, fmt.Errorf("example %d: feature %s: %w", i, name, err)
			}
		}
		list[i] = &ex.Example{Features: &ex.Features{Feature: f}}
	}
	return &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{Examples: list}}}, nil
}

func feature(v any) (*ex.Feature, error) {
	switch x := v.(type) {
	case float32:
		return floats([]float32{x}), nil
	case []float32:
		return floats(x), nil
	case float64:
		return floats([]float32{float32(x)}), nil
	case []float64:
		return floats(convert[float32](x)), nil
	case bool:
		if x {
			return ints([]int64{1}), nil
		}
		return ints([]int64{0}), nil
	case int:
		return ints([]int64{int64(x)}), nil
	case int32:
		return ints([]int64{int64(x)}), nil
	case int64:
		return ints([]int64{x}), nil
	case []int:
		return ints(convert[int64](x)), nil
	case []int64:
		return ints(x), nil
	case string:
		return bytesList([][]byte{[]byte(x)}), nil
	case []byte:
		return bytesList([][]byte{x}), nil
	case [][]byte:
		return bytesList(x), nil
	case []string:
		b := make([][]byte, len(x))
		for i, s := range x {
			b[i] = []byte(s)
		}
		return bytesList(b), nil
	}
	return nil, fmt.Errorf("a value of type %T: expected numbers, a bool, strings or bytes", v)
}

func convert[To, From int | int64 | float32 | float64](x []From) []To {
	y := make([]To, len(x))
	for i, v := range x {
		y[i] = To(v)
	}
	return y
}

func floats(v []float32) *ex.Feature {
	return &ex.Feature{Kind: &ex.Feature_FloatList{FloatList: &ex.FloatList{Value: v}}}
}

func ints(v []int64) *ex.Feature {
	return &ex.Feature{Kind: &ex.Feature_Int64List{Int64List: &ex.Int64List{Value: v}}}
}

func bytesList(v [][]byte) *ex.Feature {
	return &ex.Feature{Kind: &ex.Feature_BytesList{BytesList: &ex.BytesList{Value: v}}}
}
