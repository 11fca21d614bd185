package main

import (
	"context"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/distribute"
)

// evaluate evaluates in three ways: here, on workers with scheduled functions, and on workers with each example exactly once.
func (p *program) evaluate(ctx context.Context, c *distribute.Coordinator, out io.Writer) error {
	direct, err := p.validation.Run(ctx)
	if err != nil {
		return err
	}
	printResult(out, "evaluation on the chief", direct)
	if err := p.evalAccuracy.Reset(ctx); err != nil {
		return err
	}
	data := c.CreatePerWorkerDataset(p.evalData)
	for range heldExamples / heldBatch {
		if _, err := c.Schedule(ctx, p.evalStep, data); err != nil {
			return err
		}
	}
	if err := c.Join(ctx); err != nil {
		return err
	}
	if err := printAccuracy(ctx, out, "evaluation by functions", p.evalAccuracy); err != nil {
		return err
	}
	once, err := c.Evaluate(ctx, p.validation, 0)
	if err == nil {
		printResult(out, "evaluation on all workers", once)
	}
	return err
}

// evaluateCheckpoints runs on the evaluator: it evaluates checkpoints until training is over, and prints the last
// result, if it evaluated any new checkpoint.
func (p *program) evaluateCheckpoints(ctx context.Context, out io.Writer) error {
	last, err := p.EvaluateCheckpoints(ctx, distribute.Sidecar{Evaluate: p.validation.Run})
	if err == nil && last.Rows > 0 {
		printResult(out, fmt.Sprintf("evaluator, step %d", last.GlobalStep), last)
	}
	return err
}

func printAccuracy(ctx context.Context, out io.Writer, what string, m *distribute.Metric) error {
	v, err := m.Result(ctx)
	if err != nil {
		return err
	}
	share, _ := v.Scalar()
	fmt.Fprintf(out, "%s: accuracy %.6f\n", what, share)
	return nil
}

func printResult(out io.Writer, what string, r distribute.EvalResult) {
	share, _ := r.Scalar("accuracy")
	fmt.Fprintf(out, "%s: accuracy %.6f of %d examples\n", what, share, r.Rows)
}
