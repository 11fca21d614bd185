// Command own_server trains on rows in memory, exports the model, serves it in the same process, and requests a prediction.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
)

// Flat is a row. Networks read a single column: here a vector with the area in units of 100 m² and the number of rooms.
type Flat struct {
	Size [2]float32 `input:"size"`
	Rent float32    `input:"rent,label"`
}

func flats(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	var rows []Flat
	for i := range 1000 {
		area, rooms := float32(20+i*7%100), float32(1+i%5)
		rows = append(rows, Flat{Size: [2]float32{area / 100, rooms}, Rent: 200 + 9*area + 50*rooms})
	}
	table, err := inputs.FromStructs(rows, inputs.ArrowOptions{})
	if err != nil {
		return nil, err
	}
	var ds inputs.Dataset = table
	if ic.Mode == inputs.Train {
		ds = inputs.Pipe(ds, inputs.Shuffle(1000, 1), inputs.Repeat(0))
	}
	return inputs.Pipe(ds, inputs.Batch(32, false)), nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "own-server")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := train(ctx, dir); err != nil {
		return err
	}
	server, err := serving.New(serving.Options{
		Loader: serving.SavedModels(serving.SavedModelOptions{}),
		Models: serving.Models{Config: serving.ModelDirs(map[string]string{"flats": dir})},
		Listen: serving.Listen{REST: -1}, // a free local port for gRPC, and no REST
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		stop() // Run finishes accepted requests, then returns
		if e := <-ended; err == nil {
			err = e
		}
	}()
	select {
	case <-server.Available():
	case err := <-ended:
		ended <- nil
		return err
	}
	return ask(ctx, server.Addresses().GRPC)
}

// train trains a network and exports it as a version of a model.
func train(ctx context.Context, dir string) error {
	head := heads.Regression(1, heads.WithLabelScale(900, 300)) // approximate mean and deviation of rents
	est, err := estimator.New(head.Of(networks.MLP(32)), estimator.WithOptimizer(optimizers.Adam(0.01)))
	if err != nil {
		return err
	}
	defer est.Close()
	input := estimator.InputFunc(flats)
	if _, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: 1000}, estimator.EvalSpec{Input: input}); err != nil {
		return err
	}
	columns, err := est.ServingColumns(ctx, input)
	if err != nil {
		return err
	}
	_, err = est.ExportSavedModel(ctx, dir, estimator.RawServingInput(columns...))
	return err
}

// ask predicts the rent of a flat of 80 m² with 3 rooms.
func ask(ctx context.Context, address string) error {
	c, err := client.Dial(address, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Predict(ctx, client.Model{Name: "flats"}, client.Inputs{"size": [][]float32{{0.8, 3}}})
	if err != nil {
		return err
	}
	rent, err := client.Output[[][]float32](p, "predictions")
	if err != nil {
		return err
	}
	fmt.Printf("rent between 1040 and 1100: %v\n", rent[0][0] > 1040 && rent[0][0] < 1100)
	return nil
}
