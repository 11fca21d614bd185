package optimizers_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// mean keeps the mean of all numbers seen in "mean", and their count in "seen".
type mean struct{}

func (mean) Begin(optimizers.StepVariables) (sums int, stamp int64, err error) { return 2, 0, nil }

func (mean) Collect(_ optimizers.StepVariables, args []*tensor.Tensor, t *optimizers.Tally) error {
	for _, x := range tensor.Values[float32](args[0]) {
		t.Sums[0] += float64(x)
		t.Sums[1]++
	}
	return nil
}

func (mean) Apply(vars optimizers.StepVariables, t *optimizers.Tally) error {
	m, seen := tensor.Values[float64](vars.Change("mean")), tensor.Values[float64](vars.Change("seen"))
	m[0] = (m[0]*seen[0] + t.Sums[0]) / (seen[0] + t.Sums[1])
	seen[0] += t.Sums[1]
	return nil
}

func init() {
	optimizers.RegisterStepFunction("example_mean", func([]byte) (optimizers.StepFunction, error) { return mean{}, nil })
}

// A step function can be tried in memory, as a strategy with two replicas runs it.
func ExampleStepFunction() {
	values := map[string]*tensor.Tensor{"mean": &tensor.Tensor{DType: tensor.Float64, Shape: []int{1}, Bytes: make([]byte, 8)}, "seen": &tensor.Tensor{DType: tensor.Float64, Shape: []int{1}, Bytes: make([]byte, 8)}}
	vars := optimizers.NewStepValues(values)
	run, err := optimizers.NewStepRun("example_mean", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var sum, other optimizers.Tally
	for i, t := range []*optimizers.Tally{&sum, &other} {
		batch := &tensor.Tensor{DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 8)}
		copy(tensor.Values[float32](batch), []float32{float32(i), 4})
		if err := run.Begin(vars, t); err != nil {
			fmt.Println(err)
		}
		if err := run.Collect(vars, []*tensor.Tensor{batch}, t); err != nil {
			fmt.Println(err)
		}
	}
	if err := sum.Add(&other); err != nil {
		fmt.Println(err)
	}
	if err := run.Apply(vars, &sum); err != nil {
		fmt.Println(err)
	}
	fmt.Println("mean", values["mean"].Float(0), "of", values["seen"].Float(0), "changed", vars.Changed())
	// Output: mean 2.25 of 4 changed [mean seen]
}
