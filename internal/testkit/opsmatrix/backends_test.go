package opsmatrix_test

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

// column is a property of ops.
type column struct {
	name  string
	means string
	has   func(op string) bool
}

// backends returns a column for each backend.
func backends() []column {
	onnx := export.OnnxOps()
	return []column{
		{"GraphDef", "read and written in TensorFlow's form, with its outputs' types", func(op string) bool { return !strings.HasPrefix(op, "_") }},
		{"engine", "compiled, on the processor: training and serving", engine.Supported},
		{"eager", "computed node by node in imported models", eager.Supported},
		{"shapes", "sizes of the results are inferred in imported models", infer.Supported},
		{"CUDA", "kernels on a GPU", lower.Supported},
		{"ONNX", "has a form in ONNX exports", func(op string) bool { return slices.Contains(onnx, op) }},
	}
}

// known returns the definitions of ops that only GraphDef has, and the others.
func known(backends []column) (others, computed []*ops.Def) {
	for _, d := range ops.Defs() {
		has := func(c column) bool { return c.name != "GraphDef" && c.has(d.Name) }
		if slices.ContainsFunc(backends, has) {
			computed = append(computed, d)
		} else {
			others = append(others, d)
		}
	}
	return others, computed
}
