package onnxgraph

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/onnx.md")

const page = "../../../docs/onnx.md"

// TestOperatorsAreListed compares docs/onnx.md with the table.
func TestOperatorsAreListed(t *testing.T) {
	want := operatorsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("docs/onnx.md is older than the operators (%v): go test ./internal/imported/onnxgraph -update writes it", err)
	}
}

func operatorsPage() string {
	var b strings.Builder
	b.WriteString("# Operators of ONNX\n\nWritten by `go test ./internal/imported/onnxgraph -update` from the table of what is translated. [Serving](serving.md#onnx-models) says how models are served.\n\n" +
		"Versions 7 to 28 of the operators of the default domain, up to 5 of `ai.onnx.ml`, and 1 of `com.microsoft`; older versions where they mean the same. Functions of a model (`local functions`) are translated as what they are made of.\n" +
		"Sparse tensors and optional values, sequences and maps as inputs of a model, types of 8-bit floats, inputs and outputs of 4 bits, and the other domains are refused.\n\n| domain | operator | refused of it |\n|---|---|---|\n")
	for _, o := range Operators() {
		domain := o.Domain
		if domain == "" {
			domain = "ai.onnx"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", domain, o.Name, o.Except)
	}
	return b.String()
}
