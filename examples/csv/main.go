// Command csv trains a model from a CSV file: it writes a small file of
// houses with a missing cell, reads it back with a typed schema, and fits a
// linear regression to the prices.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// writeHouses writes rows with size (100 m2), age (100 years) and price, which is
// 3·size - age + 0.5, with some noise.
func writeHouses(path string) error {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("size,age,price\n")
	for i := range 400 {
		size, age := 0.5+r.Float64(), r.Float64()
		price := 3*size - age + 0.5 + 0.01*r.NormFloat64()
		if i == 17 {
			b.WriteString(fmt.Sprintf("%.3f,,%.3f\n", size, price)) // the age is unknown
			continue
		}
		b.WriteString(fmt.Sprintf("%.3f,%.3f,%.3f\n", size, age, price))
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func run(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "houses.csv")
	if err := writeHouses(file); err != nil {
		return err
	}
	spec := inputs.Spec{Format: "csv", Files: []string{file}, Header: true, BatchSize: 32, Columns: []inputs.ColumnSpec{
		{Name: "size", DType: "float32"},
		{Name: "age", DType: "float32", Default: 0.5},
		{Name: "price", DType: "float32", Role: inputs.Label},
	}}
	input := estimator.InputFunc(func(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
		s := spec
		s.Split = inputs.SplitSpec{Folds: 5, Part: string(ic.Mode)} // every fifth row is held out
		if ic.Mode == inputs.Train {
			s.Shuffle, s.Repeat = 400, true
		}
		return inputs.Open(ctx, s, ic)
	})
	est, err := estimator.New(heads.Regression(1).Of(networks.Linear()),
		estimator.WithOptimizer(optimizers.Adam(0.05)), estimator.WithModelDir(filepath.Join(dir, "model")))
	if err != nil {
		return err
	}
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: 3000}, estimator.EvalSpec{Input: input})
	if err != nil {
		return err
	}
	rmse, _ := res.Eval.Scalar("rmse")
	fmt.Printf("rmse below 0.05: %v\n", rmse < 0.05)
	return nil
}

func main() {
	dir, err := os.MkdirTemp("", "csv-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), dir); err != nil {
		log.Fatal(err)
	}
}
