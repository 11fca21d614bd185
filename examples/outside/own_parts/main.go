// Command own_parts trains with a custom feature column, metric and loss,
// exports the model with its column and metric, and serves it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/serving"
	"github.com/goestimator/goestimator/serving/client"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// logRatio is a column: log(A/B).
type logRatio struct{ A, B *feature.Numeric }

func (c *logRatio) Name() string                     { return c.A.Key + "_by_" + c.B.Key }
func (c *logRatio) String() string                   { return fmt.Sprintf("log_ratio(%v, %v)", c.A, c.B) }
func (c *logRatio) Width() int                       { return 1 }
func (c *logRatio) Of() []feature.Dense              { return []feature.Dense{c.A, c.B} }
func (c *logRatio) Formula(of []expr.Expr) expr.Expr { return of[0].Div(of[1]).Log() }

// explained is a metric: the share of the labels' variance that predictions explain.
func explained() (metrics.Accumulator, error) {
	return metrics.NewFormula("explained",
		func(y, p expr.Expr) []expr.Expr {
			return []expr.Expr{expr.Number(1), y, y.Square(), y.Sub(p).Square()}
		},
		func(sums []expr.Expr) expr.Expr {
			variance := sums[2].Sub(sums[1].Square().Div(sums[0]))
			return expr.Number(1).Sub(sums[3].Div(variance))
		})
}

// pseudoHuber is the loss sqrt(1 + error^2) - 1, which outliers hardly affect.
func pseudoHuber(mc *estimator.ModelContext, in heads.LossInputs) *G.Node {
	one := ops.Scalar(mc, tensor.Float32, 1)
	squared := ops.SquaredDifference(mc, in.Labels, in.Logits)
	return ops.Sub(mc, ops.Sqrt(mc, ops.Add(mc, squared, one)), one)
}

// rows returns debts, incomes, and rates that follow from their ratio. With nonsense, one row in twenty is an outlier.
func rows(seed uint64, n int, nonsense bool) (debt, income, rate []float32) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		d, s := 1+9*r.Float64(), 1+9*r.Float64()
		y := 3 + 2*math.Log(d/s)
		if nonsense && i%20 == 0 {
			y = 500
		}
		debt, income, rate = append(debt, float32(d)), append(income, float32(s)), append(rate, float32(y))
	}
	return debt, income, rate
}

func input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	train := ic.Mode == inputs.Train
	debt, income, rate := rows(uint64(len(ic.Mode)), 1000, train)
	ds, err := inputs.Slices(nil, inputs.Slice("debt", inputs.Feature, debt), inputs.Slice("income", inputs.Feature, income), inputs.Slice("rate", inputs.Label, rate))
	if err != nil || !train {
		return inputs.Pipe(ds, inputs.Batch(1000, false)), err
	}
	return inputs.Pipe(ds, inputs.Shuffle(1000, 1), inputs.Repeat(0), inputs.Batch(100, true)), nil
}

// model uses the column and the loss, and adds the metric to its evaluations.
func model(dir string) (*estimator.Estimator, error) {
	column := &logRatio{&feature.Numeric{Key: "debt"}, &feature.Numeric{Key: "income"}}
	head := heads.Regression(1, heads.WithLossFn(pseudoHuber))
	est, err := canned.LinearEstimator{Head: head, Columns: []feature.Column{column}, Optimizer: optimizers.Adam(0.05)}.New(estimator.WithModelDir(dir + "/model"))
	if err != nil {
		return nil, err
	}
	return estimator.AddMetrics(est, func(_ *estimator.ModelContext, _ models.Features, labels models.Labels, predictions estimator.Nodes) (estimator.Metrics, error) {
		return estimator.Metrics{"explained": {New: explained, Args: []*G.Node{labels.Dense("rate"), predictions["predictions"]}}}, nil
	}), nil
}

// serve serves the graph with these tags of the model exported to base, and runs f with a client.
func serve(ctx context.Context, base string, tags []string, f func(*client.Client) error) error {
	s, err := serving.New(serving.Options{
		Loader: serving.SavedModels(serving.SavedModelOptions{Tags: tags}),
		Models: serving.Models{Config: serving.ModelDirs(map[string]string{"rates": base})},
		Listen: serving.Listen{Host: "127.0.0.1", REST: -1},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case err := <-ended:
		stop()
		return err
	case <-s.Available():
	}
	c, err := client.Dial(s.Addresses().GRPC, client.Options{})
	if err == nil {
		err = errors.Join(f(c), c.Close())
	}
	stop()
	return errors.Join(err, <-ended)
}

// ask requests an output of a signature from a server.
func ask[T any](ctx context.Context, c *client.Client, signature string, in client.Inputs, output string, to *T) error {
	p, err := c.Predict(ctx, client.Model{Name: "rates", Signature: signature}, in, output)
	if err != nil {
		return err
	}
	*to, err = client.Output[T](p, output)
	return err
}

func run(ctx context.Context, dir string) error {
	est, err := model(dir)
	if err != nil {
		return err
	}
	defer est.Close()
	in := estimator.InputFunc(input)
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: in, MaxSteps: 600}, estimator.EvalSpec{Input: in})
	if err != nil {
		return err
	}
	share, _ := res.Eval.Scalar("explained")

	columns, err := est.ServingColumns(ctx, in, models.Eval)
	if err != nil {
		return err
	}
	if _, err := est.ExportSavedModel(ctx, dir+"/export", estimator.RawServingInput(columns...), estimator.ExportModes(models.Eval)); err != nil {
		return err
	}
	debt, income, rate := rows(uint64(len(inputs.Eval)), 1000, false)
	var predicted [][]float32
	var served float32
	if err := serve(ctx, dir+"/export", nil, func(c *client.Client) error {
		return ask(ctx, c, "", client.Inputs{"debt": debt, "income": income}, "predictions", &predicted)
	}); err != nil {
		return err
	}
	if err := serve(ctx, dir+"/export", []string{"eval"}, func(c *client.Client) error {
		return ask(ctx, c, "eval", client.Inputs{"debt": debt, "income": income, "rate": rate}, "metrics/explained/update_op", &served)
	}); err != nil {
		return err
	}
	worst := 0.0
	for i, p := range predicted {
		worst = max(worst, math.Abs(float64(p[0]-rate[i])))
	}
	fmt.Printf("explained above 0.99: %v, served predictions as good: %v, served metric equal: %v\n",
		share > 0.99, len(predicted) == len(rate) && worst < 0.2, math.Abs(float64(served)-share) < 1e-5)
	return nil
}

func main() {
	dir, err := os.MkdirTemp("", "own-parts-")
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), dir)
	os.RemoveAll(dir)
	if err != nil {
		log.Fatal(err)
	}
}
