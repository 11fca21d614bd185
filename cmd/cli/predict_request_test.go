package cli

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// TestPredictRequest: values that JSON does not have, and lists of different lengths, are written in the form that servers read.
func TestPredictRequest(t *testing.T) {
	of := func(x *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	texts := func(s ...string) *tensor.Tensor {
		x := tensor.New(tensor.String, len(s))
		for i, v := range s {
			x.Strings[i] = []byte(v)
		}
		return x
	}
	columns := []inputs.NamedTensor{
		{Name: "x", Tensor: of(tensor.FromSlice([]float32{1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}, 2, 2))},
		{Name: "text", Role: inputs.Feature, Tensor: texts("a<é", "\xff\x00")},
		{Name: "large", Tensor: of(tensor.FromSlice([]uint64{1, math.MaxUint64}, 2))},
		{Name: "y", Role: inputs.Label, Tensor: of(tensor.FromSlice([]int64{0, 1}, 2))},
		{Name: "words", Tensor: texts("b", "c"), Offsets: []int32{0, 0, 2}},
		{Name: "ids", Tensor: of(tensor.FromSlice([]int64{5, 6, 7}, 3)), Offsets: []int32{0, 2, 3}},
		{Name: "steps", Tensor: of(tensor.FromSlice([]float32{0.5}, 1)), Offsets: []int32{0, 1, 1}},
	}
	q := predictRequest{longest: map[string]int{}}
	for i := range 2 {
		if err := q.add(row{n: i, i: i, columns: columns}); err != nil {
			t.Fatal(err)
		}
	}
	const want = `{"instances":[` +
		`{"x":[1,NaN],"text":"a<é","large":1,"words":["",""],"ids":[5,6],"steps":[0.5]},` +
		`{"x":[Infinity,-Infinity],"text":{"b64":"/wA="},"large":18446744073709551615,"words":["b","c"],"ids":[7,-1],"steps":[NaN]}]}` + "\n"
	if got := string(q.body()); got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
	q = predictRequest{examples: true, longest: map[string]int{}}
	for i := range 2 {
		if err := q.add(row{n: i, i: i, columns: columns}); err != nil {
			t.Fatal(err)
		}
	}
	const examples = `{"examples":[` +
		`{"x":[1,NaN],"text":"a<é","large":1,"words":[],"ids":[5,6],"steps":[0.5]},` +
		`{"x":[Infinity,-Infinity],"text":{"b64":"/wA="},"large":18446744073709551615,"words":["b","c"],"ids":[7],"steps":[]}]}` + "\n"
	if got := string(q.body()); got != examples {
		t.Errorf("got %s, expected %s", got, examples)
	}
}
