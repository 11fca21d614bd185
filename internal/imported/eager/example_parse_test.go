package eager

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// If all columns are dense, the examples are found part by part: values, defaults and errors belong to the right examples, and
// memory does not grow with their number.
func TestParseInParts(t *testing.T) {
	n := &graph.Node{Name: "n", Op: "ParseExampleV2", Attrs: graph.Attrs{"Tdense": []tensor.DType{tensor.Float32, tensor.Int64},
		"dense_shapes": []graph.Shape{graph.ShapeOf(2), graph.ShapeOf()}}}
	const rows = 2*partSize + 3
	all := tensor.New(tensor.String, rows)
	of := func(i int, floats ...float32) []byte {
		f := map[string]*example.Feature{"i": {Kind: &example.Feature_Int64List{Int64List: &example.Int64List{Value: []int64{int64(i)}}}}}
		if floats != nil {
			f["f"] = &example.Feature{Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: floats}}}
		}
		b, err := proto.Marshal(&example.Example{Features: &example.Features{Feature: f}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for i := range rows {
		if all.Strings[i] = of(i, float32(i), -float32(i)); i%5 == 0 {
			all.Strings[i] = of(i)
		}
	}
	run := func() ([]Value, error) {
		fallback := tensorOf([]float32{5, 6}, 2)
		return Run(context.Background(), n, []Value{{T: all}, {T: texts()}, {T: texts()}, {T: texts("f", "i")}, {T: texts()}, {T: fallback}, {T: tensor.New(tensor.Int64, 0)}}, nil)
	}
	out, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		want := []float32{float32(i), -float32(i)}
		if i%5 == 0 {
			want = []float32{5, 6}
		}
		got := tensor.Values[float32](out[0].T)[2*i : 2*i+2]
		if got[0] != want[0] || got[1] != want[1] || tensor.Values[int64](out[1].T)[i] != int64(i) {
			t.Fatalf("example %d: got %v and %d, expected %v", i, got, tensor.Values[int64](out[1].T)[i], want)
		}
	}
	if taken := testing.AllocsPerRun(1, func() { _, _ = run() }); taken > rows/2 {
		t.Errorf("got %v allocations for %d examples, expected a few of each part", taken, rows)
	}
	const bad = partSize + 7
	for text, damaged := range map[string][]byte{
		fmt.Sprintf("Index: %d.  Number of float values", bad): of(bad, 1, 2, 3), "Could not parse example input": []byte("\xff"),
	} {
		all.Strings[bad] = damaged
		if _, err := run(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, expected %q", err, text)
		}
	}
}
