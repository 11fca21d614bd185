package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// describedText is a dataset of range(6) with a cache, an order, and a function that looks numbers up in a table and adds a constant in a branch.
const describedText = `
node { name: "start" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 0 } } } }
node { name: "stop" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 6 } } } }
node { name: "step" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 1 } } } }
node { name: "range" op: "RangeDataset" input: "start" input: "stop" input: "step"
	attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } }
node { name: "seeds" op: "Const" attr { key: "dtype" value { type: DT_RESOURCE } } attr { key: "value" value { tensor { dtype: DT_RESOURCE tensor_shape {}
	resource_handle_val { device: "/job:chief/replica:0/task:0/device:CPU:0" container: "localhost" name: "seeds" maybe_type_name: "N10tensorflow4data13SeedGeneratorE" } } } } }
node { name: "seven" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 7 } } } }
node { name: "shuffle" op: "ShuffleDatasetV3" input: "range" input: "stop" input: "seven" input: "seven" input: "seeds"
	attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } attr { key: "reshuffle_each_iteration" value { b: true } } }
node { name: "cache" op: "DummyMemoryCache" }
node { name: "none" op: "Const" attr { key: "dtype" value { type: DT_STRING } } attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "" } } } }
node { name: "cached" op: "CacheDatasetV2" input: "shuffle" input: "none" input: "cache"
	attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } }
node { name: "table" op: "AnonymousHashTable" attr { key: "key_dtype" value { type: DT_INT64 } } attr { key: "value_dtype" value { type: DT_INT64 } } }
node { name: "keys" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 2 int64_val: 4 } } } }
node { name: "values" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 200 int64_val: 400 } } } }
node { name: "fill" op: "InitializeTableV2" input: "table" input: "keys" input: "values" attr { key: "Tkey" value { type: DT_INT64 } } attr { key: "Tval" value { type: DT_INT64 } } }
node { name: "filled" op: "Identity" input: "table" input: "^fill" attr { key: "T" value { type: DT_RESOURCE } } }
node { name: "map" op: "MapDataset" input: "cached" input: "filled" attr { key: "f" value { func { name: "lookup" } } } attr { key: "Targuments" value { list { type: DT_RESOURCE } } }
	attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } attr { key: "_class" value { list { s: "loc:@range" } } } }
node { name: "dataset" op: "_Retval" input: "map" attr { key: "T" value { type: DT_VARIANT } } attr { key: "index" value { i: 0 } } }
library {
	function {
		signature { name: "lookup" input_arg { name: "x" type: DT_INT64 } input_arg { name: "t" type: DT_RESOURCE } output_arg { name: "y" type: DT_INT64 } }
		node_def { name: "five" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 5 } } } }
		node_def { name: "found" op: "LookupTableFindV2" input: "t" input: "x" input: "five:output:0" attr { key: "Tin" value { type: DT_INT64 } } attr { key: "Tout" value { type: DT_INT64 } } }
		node_def { name: "high" op: "Greater" input: "x" input: "five:output:0" attr { key: "T" value { type: DT_INT64 } } }
		node_def { name: "if" op: "StatelessIf" input: "high:z:0" input: "found:values:0" attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "Tin" value { list { type: DT_INT64 } } } attr { key: "Tout" value { list { type: DT_INT64 } } }
			attr { key: "then_branch" value { func { name: "same" } } } attr { key: "else_branch" value { func { name: "more" } } } }
		ret { key: "y" value: "if:output:0" }
	}
	function {
		signature { name: "same" input_arg { name: "x" type: DT_INT64 } output_arg { name: "y" type: DT_INT64 } }
		ret { key: "y" value: "x" }
	}
	function {
		signature { name: "more" input_arg { name: "x" type: DT_INT64 } output_arg { name: "y" type: DT_INT64 } }
		node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 1 } } } }
		node_def { name: "sum" op: "AddV2" input: "x" input: "one:output:0" attr { key: "T" value { type: DT_INT64 } } }
		ret { key: "y" value: "sum:z:0" }
	}
}`

// TestDescriptions: the description of a dataset produces the same elements elsewhere, and so does the description of that.
func TestDescriptions(t *testing.T) {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(describedText), gd); err != nil {
		t.Fatal(err)
	}
	text, err := proto.Marshal(gd)
	if err != nil {
		t.Fatal(err)
	}
	const want = "[201 401 6 6 6 6]" // TensorFlow's order of the seeds
	for round := range 3 {
		env := &eager.Env{Graph: returnOf}
		v, err := returnOf(t.Context(), env, text)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		got := numbersOf(t, v)
		if got != want {
			t.Errorf("round %d: got %s, expected %s", round, got, want)
		}
		out, err := eager.Run(t.Context(), &graph.Node{Name: "describe", Op: "DatasetToGraphV2"}, []eager.Value{v}, env)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		text = out[0].T.Strings[0]
	}
}

// numbersOf are the elements of a dataset of numbers.
func numbersOf(t *testing.T, v eager.Value) string {
	t.Helper()
	it, err := v.Resource.(dataset.Dataset).Iterator(&dataset.Pass{Room: dataset.NewRoom(1 << 20), Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var all []int64
	for {
		e, err := it.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return fmt.Sprint(all)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e[0].T.Int(0))
	}
}
