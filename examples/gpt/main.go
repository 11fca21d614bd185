// Command gpt trains a character-level language model on the source of the Go standard library, and generates text with
// it. Without flags it trains a small model on one package, which takes seconds. -export writes a model that
// goestimator serve and TensorFlow can run; -ask requests text from a served model, which streams it.
//
//	go run ./examples/gpt -layers 6 -width 256 -heads 8 -context 256 -batch 16 -steps 5000 -packages all -dropout 0.1 -export runs/export
//	go run ./cmd/goestimator serve --model gpt=runs/export/gpt
//	go run ./examples/gpt -ask localhost:8500 -prompt 'func (b *Buffer) ' -write 1000
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

// flags are the command line's flags.
type flags struct {
	net          networks.GPT
	batch        int
	steps        int64
	learningRate float64
	below        float64
	packages     string
	modelDir     string
	write        int
	export       string
	ask, prompt  string
}

func parse() *flags {
	f := &flags{}
	f.net.Vocabulary = vocabulary
	flag.IntVar(&f.net.Layers, "layers", 2, "transformer blocks")
	flag.IntVar(&f.net.Heads, "heads", 4, "of attention")
	flag.IntVar(&f.net.Width, "width", 64, "of the model")
	flag.IntVar(&f.net.Context, "context", 64, "characters that a prediction sees")
	flag.Float64Var(&f.net.Dropout, "dropout", 0, "share of units that training drops")
	flag.BoolVar(&f.net.Recompute, "recompute", false, "computes blocks again for their gradients, in place of keeping them: less memory")
	flag.IntVar(&f.batch, "batch", 16, "texts of a step")
	flag.Int64Var(&f.steps, "steps", 300, "steps")
	flag.Float64Var(&f.learningRate, "learning_rate", 2e-3, "the largest one; a cosine leads to a tenth of it")
	flag.Float64Var(&f.below, "below", 2.6, "the loss of the evaluation, in nats for a character, that is expected")
	flag.StringVar(&f.packages, "packages", "strings", "whose source is read: a folder of the standard library, or all")
	flag.StringVar(&f.modelDir, "model_dir", "", "folder of checkpoints; empty: a temporary one")
	flag.IntVar(&f.write, "write", 120, "characters to write")
	flag.StringVar(&f.export, "export", "", "folder for two models: gpt, a SavedModel that writes texts, and onnx, whose output are the logits of the next character")
	flag.StringVar(&f.ask, "ask", "", "host and port of a server whose model gpt writes the text; nothing is trained")
	flag.StringVar(&f.prompt, "prompt", "func ", "what is continued")
	flag.Parse()
	return f
}

// modelFn learns from texts one character longer than the context. In prediction it computes the logits of the next character.
func (f *flags) modelFn(mc *estimator.ModelContext, features models.Features, _ models.Labels) (*estimator.Spec, error) {
	ids := ops.Cast(mc, features.Only(), tensor.Int32)
	if mc.Mode() == models.Predict {
		next := f.net.NextLogits(mc, ops.Slice(mc, ids, []int{0, 1}, []int{-1, -1}))
		return &estimator.Spec{Predictions: estimator.Nodes{"logits": next}}, nil
	}
	logits := f.net.Logits(mc, ops.Slice(mc, ids, []int{0, 0}, []int{-1, f.net.Context}))
	following := ops.Reshape(mc, ops.Slice(mc, ids, []int{0, 1}, []int{-1, -1}), -1)
	spec := &estimator.Spec{Loss: losses.SparseSoftmaxCrossEntropy(mc, following, ops.Reshape(mc, logits, -1, vocabulary), losses.Options{})}
	if mc.Mode() == models.Train {
		rate := optimizers.Warmup{Steps: f.steps/20 + 1, Then: optimizers.Cosine{Initial: f.learningRate, Alpha: 0.1, Steps: f.steps}}
		adam := optimizers.AdamW(f.learningRate, optimizers.WithSchedule(rate), optimizers.WithWeightDecay(0.1),
			optimizers.WithBeta2(0.99), optimizers.WithClipGlobalNorm(1), optimizers.WithNoDecay("bias|gamma|beta|embeddings"))
		spec.TrainOp = adam.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// inputFn returns the texts: the last tenth for evaluation, the rest, repeated, for training.
func (f *flags) inputFn(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	rows, err := f.texts(ic.Mode == inputs.Train)
	if err != nil {
		return nil, err
	}
	text, err := inputs.Slices(ic.Allocator, inputs.Slice("text", inputs.Feature, rows, f.net.Context+1))
	if err != nil {
		return nil, err
	}
	if ic.Mode != inputs.Train {
		return inputs.Pipe(text, inputs.Batch(f.batch, false)), nil
	}
	return inputs.Pipe(text, inputs.Shuffle(1<<20, ic.Seed), inputs.Repeat(0), inputs.Batch(f.batch, true), inputs.Prefetch(2)), nil
}

func main() {
	f := parse()
	ctx, input := context.Background(), estimator.InputFunc(f.inputFn)
	if f.ask != "" {
		if err := f.asked(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	var options []estimator.Option
	if f.modelDir != "" {
		options = append(options, estimator.WithModelDir(f.modelDir))
	}
	est, err := estimator.New(estimator.ModelFunc(f.modelFn), options...)
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: f.steps}, estimator.EvalSpec{Input: input})
	if err != nil {
		log.Fatal(err)
	}
	loss, _ := res.Eval.Scalar("loss")
	log.Printf("%d steps in %.0f s, loss of the evaluation %.4f", f.steps, time.Since(start).Seconds(), loss)
	fmt.Printf("loss below %v: %v\n", f.below, loss < f.below)
	if err := f.continued(ctx, est); err != nil {
		log.Fatal(err)
	}
	if f.export == "" {
		return
	}
	if err := f.exported(ctx, est, input); err != nil {
		log.Fatal(err)
	}
}
