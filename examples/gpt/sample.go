package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/serving/client"
)

// How characters are sampled.
const (
	temperature = 0.8
	topK        = 20
	seed        = 1
)

// generator describes text generation for an export.
func (f *flags) generator() estimator.Generator {
	return estimator.Generator{Model: f.net, Characters: characters}
}

// continued prints the prompt and the generated continuation.
func (f *flags) continued(ctx context.Context, est *estimator.Estimator) error {
	w, err := est.TextWriter(f.generator())
	if err != nil {
		return err
	}
	text, err := w.Text(ctx, f.prompt, estimator.Sampling{MaxNewTokens: f.write, Temperature: temperature, TopK: topK, Seed: seed})
	fmt.Println(f.prompt + text)
	if err != nil {
		return err
	}
	return w.Close()
}

// exported writes two models: a SavedModel that generates text, and an ONNX model that returns the logits of the next character.
func (f *flags) exported(ctx context.Context, est *estimator.Estimator, input estimator.InputFn) error {
	dir, err := est.ExportGenerator(ctx, filepath.Join(f.export, "gpt"), f.generator())
	if err != nil {
		return err
	}
	fmt.Println("exported to", dir)
	columns, err := est.ServingColumns(ctx, input, models.Predict)
	if err != nil {
		return err
	}
	dir, err = est.ExportONNX(ctx, filepath.Join(f.export, "onnx"), estimator.RawServingInput(columns...))
	if err != nil {
		return err
	}
	fmt.Println("exported to", dir)
	return nil
}

// asked prints the prompt and the continuation by a served model, as it streams in.
func (f *flags) asked(ctx context.Context) error {
	c, err := client.Dial(f.ask, client.Options{})
	if err != nil {
		return err
	}
	fmt.Print(f.prompt)
	g := client.Generation{Prompt: f.prompt, MaxNewTokens: f.write, Temperature: temperature, TopK: topK, Seed: seed}
	for part, err := range c.Generate(ctx, client.Model{Name: "gpt"}, g) {
		if err != nil {
			return err
		}
		fmt.Print(part)
	}
	fmt.Println()
	return c.Close()
}
