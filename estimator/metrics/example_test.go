package metrics_test

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// Two evaluators see one half of the data each; one merges the other's state.
func Example() {
	half := func(labels, predictions []float32) *metrics.AUC {
		auc, err := metrics.NewAUC(metrics.AUCOptions{})
		if err != nil {
			panic(err)
		}
		l, _ := tensor.FromSlice(labels, len(labels))
		p, _ := tensor.FromSlice(predictions, len(predictions))
		if err := auc.Update(l, p); err != nil {
			panic(err)
		}
		return auc
	}
	first := half([]float32{0, 0}, []float32{0, 0.5})
	second := half([]float32{1, 1}, []float32{0.3, 0.9})
	if err := first.Merge(second); err != nil {
		panic(err)
	}
	fmt.Println("auc:", first.Result())
	// Output: auc: 0.75
}

// A metric by its name, as a configuration gives it.
func ExampleNew() {
	m, err := metrics.New("precision", metrics.WithThresholds(0.25, 0.75))
	if err != nil {
		panic(err)
	}
	labels, _ := tensor.FromSlice([]int64{0, 1, 1}, 3)
	probabilities, _ := tensor.FromSlice([]float32{0.5, 0.5, 1}, 3, 1)
	if err := m.Update(labels, probabilities); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", m.Result().Data)
	_, err = metrics.New("f7")
	fmt.Println(err != nil)
	// Output:
	// [0.667 1.000]
	// true
}
