package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// benchCase is one row of the table: a network, its sizes and how both sides compute.
type benchCase struct {
	Name      string   `json:"name"`
	Net       string   `json:"net"`
	Batch     int      `json:"batch"`
	Dims      []int    `json:"dims"`            // shape of an example's x
	IDs       int      `json:"ids,omitempty"`   // number for each example
	Rows      int      `json:"rows,omitempty"`  // in each table
	Width     int      `json:"width,omitempty"` // of the embedding table
	Classes   int      `json:"classes"`         // 1: binary
	Precision string   `json:"precision"`       // a name of engine.Precision
	Rule      string   `json:"rule"`            // optimizer
	Rate      float64  `json:"rate"`
	Tiny      bool     `json:"tiny,omitempty"` // narrow and shallow, for the emulated GPU
	Kinds     []string `json:"kinds"`          // modes of the peer
	Reference string   `json:"reference"`      // dtype of the peer's reference
	Tolerance float64  `json:"tolerance"`      // relative tolerance of losses
}

var cases = []benchCase{
	{Name: "mlp_128", Net: "mlp", Batch: 128, Dims: []int{784}, Classes: 10, Precision: "tf32", Rule: "adam", Rate: 0.001, Kinds: []string{"max-autotune", "graph"}, Reference: "float64", Tolerance: 5e-3},
	{Name: "mlp_8192", Net: "mlp", Batch: 8192, Dims: []int{784}, Classes: 10, Precision: "tf32", Rule: "adam", Rate: 0.001, Kinds: []string{"max-autotune", "graph"}, Reference: "float64", Tolerance: 5e-3},
	{Name: "resnet20_128", Net: "resnet20", Batch: 128, Dims: []int{32, 32, 3}, Classes: 10, Precision: "tf32", Rule: "momentum", Rate: 0.01, Kinds: []string{"reduce-overhead", "graph"}, Reference: "float64", Tolerance: 1e-2},
	{Name: "resnet50_256", Net: "resnet50", Batch: 256, Dims: []int{224, 224, 3}, Classes: 1000, Precision: "bf16_mixed", Rule: "momentum", Rate: 0.01, Kinds: []string{"reduce-overhead", "graph"}, Reference: "float32", Tolerance: 2e-2},
	{Name: "wide_deep_10m", Net: "wide_deep", Batch: 8192, Dims: []int{13}, IDs: 26, Rows: 10_000_000, Width: 16, Classes: 1, Precision: "tf32", Rule: "adagrad", Rate: 0.05, Kinds: []string{"rows", "sparse", "graph"}, Reference: "float64", Tolerance: 5e-3},
	{Name: "resnet20_128_bf16", Net: "resnet20", Batch: 128, Dims: []int{32, 32, 3}, Classes: 10, Precision: "bf16_mixed", Rule: "momentum", Rate: 0.01, Kinds: []string{"reduce-overhead", "graph"}, Reference: "float64", Tolerance: 3e-2},
}

// tiny is the case for the emulated GPU.
func (k benchCase) tiny() benchCase {
	k.Tiny, k.Batch, k.Kinds = true, 4, []string{"eager"}
	if k.precision() == engine.BF16Mixed {
		k.Tolerance = 0.3 // statistics over few numbers amplify rounding
	}
	switch {
	case k.IDs > 0:
		k.IDs, k.Rows, k.Kinds = 3, 50, []string{"rows", "sparse", "graph"}
	case len(k.Dims) == 3:
		k.Dims, k.Classes, k.Rate = []int{16, 16, 3}, 4, k.Rate/10
	default:
		k.Dims = []int{20}
	}
	return k
}

// narrow is the divisor of widths.
func (k *benchCase) narrow() int {
	if k.Tiny {
		return 8
	}
	return 1
}

// depth is the number of blocks in a stage.
func (k *benchCase) depth(blocks int) int {
	if k.Tiny {
		return 1
	}
	return blocks
}

func (k *benchCase) precision() engine.Precision {
	all := []engine.Precision{engine.Float32, engine.TF32, engine.BF16Mixed}
	return all[max(0, slices.IndexFunc(all, func(p engine.Precision) bool { return p.String() == k.Precision }))]
}

// chosen returns the cases in a list of names; all cases for an empty list.
func chosen(names string) ([]benchCase, error) {
	if names == "" {
		return cases, nil
	}
	var out []benchCase
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(cases, func(k benchCase) bool { return k.Name == name })
		if i < 0 {
			var known []string
			for _, k := range cases {
				known = append(known, k.Name)
			}
			return nil, fmt.Errorf("no case %q: expected some of %s", name, strings.Join(known, ", "))
		}
		out = append(out, cases[i])
	}
	return out, nil
}

// Seeds of the data; seeds of variables are 100 and more.
const (
	seedX uint32 = 1 + iota
	seedIDs
	seedLabels
)

// data returns the batch that every step uses: x, ids, labels; ids is nil if the case has none.
func (k *benchCase) data() (x, ids, labels *tensor.Tensor) {
	x = tensor.New(tensor.Float32, append([]int{k.Batch}, k.Dims...)...)
	uniform(tensor.Values[float32](x), seedX, 1)
	labels = tensor.New(tensor.Int64, k.Batch)
	below(tensor.Values[int64](labels), seedLabels, int64(max(k.Classes, 2)))
	if k.IDs > 0 {
		ids = tensor.New(tensor.Int64, k.Batch, k.IDs)
		below(tensor.Values[int64](ids), seedIDs, int64(k.Rows))
	}
	return x, ids, labels
}
