package columns_test

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleLinearModel() {
	age := &feature.Numeric{Key: "age"}
	job := &feature.Vocabulary{Key: "job", Values: []string{"baker", "nurse", "smith"}}
	plan, err := feature.New(feature.Columns{Linear: []feature.Column{age, job}})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := plan.Linear(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := models.Options{Mode: models.Train, Batch: 4, Seed: 1, DType: tensor.Float32}
	b, err := models.Build(opts, func(b *models.Builder) error {
		f := models.NewFeatures(b,
			models.Feature{Name: "age", Dense: b.Input("age", tensor.Float32, b.Batch(), 1)},
			models.Feature{Name: "job/ids", Ragged: b.Ragged("job/ids", tensor.Int64, models.RaggedSize{Capacity: 1, Length: 1})})
		y := columns.LinearModel(b, f, in, 1, feature.LinearScope)
		if y == nil {
			return b.Err()
		}
		fmt.Println("output", y.Shape())
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range b.Variables() {
		fmt.Println(v.Name, v.Shape)
	}
	// Output:
	// output (4, 1)
	// linear/linear_model/age/weights [1 1]
	// linear/linear_model/job/weights [3 1]
	// linear/linear_model/bias_weights [1]
}
