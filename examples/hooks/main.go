// Command hooks controls training with hooks: a custom one, which keeps the
// lowest loss and its step in the checkpoint, and the library's in-memory
// evaluator.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// bestLoss remembers the lowest loss; checkpoints contain its state.
type bestLoss struct {
	hooks.Base
	Loss float64
	Step int64
}

func (h *bestLoss) Begin(s hooks.Setup) error { return s.Fetch("loss") }

func (h *bestLoss) AfterRun(_ context.Context, r hooks.Run) error {
	v, err := r.Value("loss")
	if err != nil {
		return err
	}
	if loss := v.Float(0); loss < h.Loss {
		h.Loss, h.Step = loss, r.GlobalStep()
	}
	return nil
}

func (h *bestLoss) StateKey() string               { return "best_loss" }
func (h *bestLoss) MarshalBinary() ([]byte, error) { return json.Marshal([]any{h.Loss, h.Step}) }
func (h *bestLoss) UnmarshalBinary(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Loss, &h.Step})
}

var _ hooks.Stateful = (*bestLoss)(nil)

func input(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	spec := inputs.Spec{Format: "glyphs", BatchSize: 64}
	if ic.Mode != inputs.Train {
		spec.Count = 500
	}
	return inputs.Open(ctx, spec, ic)
}

func run(ctx context.Context) error {
	network, err := networks.New("mlp", map[string]any{"hidden_units": []any{64}})
	if err != nil {
		return err
	}
	head := heads.MultiClass(10)
	adam, err := optimizers.New("adam", nil)
	if err != nil {
		return err
	}
	est, err := estimator.New(heads.ModelFn(network, head, adam))
	if err != nil {
		return err
	}
	best := &bestLoss{Loss: math.MaxFloat64}
	eval, err := estimator.NewInMemoryEvaluator(est, estimator.InputFunc(input), 100)
	if err != nil {
		return err
	}
	if _, err := est.Train(ctx, estimator.InputFunc(input), estimator.MaxSteps(200), estimator.WithHooks(best, eval)); err != nil {
		return err
	}
	again := &bestLoss{Loss: math.MaxFloat64} // a new process would read its state from the checkpoint
	if _, err := est.Train(ctx, estimator.InputFunc(input), estimator.Steps(1), estimator.WithHooks(again)); err != nil {
		return err
	}
	fmt.Printf("state survived: %v, evaluated at step %d\n", again.Loss <= best.Loss && again.Step > 0, eval.Result().GlobalStep)
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
