package worker

import (
	"testing"

	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// TestNestedGraphs: a node may run a graph that describes a dataset, but not one that might not end.
func TestNestedGraphs(t *testing.T) {
	number := func(name, v string) string {
		return `node { name: "` + name + `" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: ` + v + ` } } } }`
	}
	retval := func(input, dtype string) string {
		return `node { name: "dataset" op: "_Retval" input: "` + input + `" attr { key: "T" value { type: ` + dtype + ` } } attr { key: "index" value { i: 0 } } }`
	}
	rangeOf := number("start", "0") + number("stop", "5") + number("step", "2") + `node { name: "range" op: "RangeDataset" input: "start" input: "stop" input: "step"
		attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } }`
	run := func(text string) (eager.Value, error) {
		gd := &graph_go_proto.GraphDef{}
		if err := prototext.Unmarshal([]byte(text), gd); err != nil {
			t.Fatal(err)
		}
		data, err := proto.Marshal(gd)
		if err != nil {
			t.Fatal(err)
		}
		return returnOf(t.Context(), &eager.Env{Graph: returnOf}, data)
	}
	v, err := run(rangeOf + retval("range:0", "DT_VARIANT"))
	if d, ok := v.Resource.(dataset.Dataset); err != nil || !ok || d.Cardinality() != 3 {
		t.Errorf("a dataset: got %v, %v", v, err)
	}
	receive := `node { name: "r" op: "_Recv" attr { key: "tensor_name" value { s: "never" } } attr { key: "tensor_type" value { type: DT_INT64 } }
		attr { key: "send_device" value { s: "/job:worker/replica:0/task:0/device:CPU:0" } } attr { key: "recv_device" value { s: "/job:worker/replica:0/task:0/device:CPU:0" } }
		attr { key: "send_device_incarnation" value { i: 1 } } }`
	text := `node { name: "text" op: "Const" attr { key: "dtype" value { type: DT_STRING } } attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "" } } } }`
	for name, text := range map[string]string{
		"no result":     rangeOf,
		"two results":   rangeOf + retval("range:0", "DT_VARIANT") + `node { name: "again" op: "_Retval" input: "range:0" attr { key: "T" value { type: DT_VARIANT } } }`,
		"no such node":  retval("range:0", "DT_VARIANT"),
		"a second one":  rangeOf + retval("range:0", "DT_VARIANT") + `node { name: "range" op: "NoOp" }`,
		"another place": rangeOf + retval("range:0", "DT_VARIANT")[:len(retval("range:0", "DT_VARIANT"))-len(`i: 0 } } }`)] + `i: 7 } } }`,
		"waiting":       receive + retval("r:0", "DT_INT64"),
		"nested":        text + `node { name: "d" op: "DatasetFromGraph" input: "text" }` + retval("d:0", "DT_VARIANT"),
	} {
		if v, err := run(text); err == nil {
			t.Errorf("%s: expected an error, got %v", name, v)
		}
	}
	if _, err := returnOf(t.Context(), &eager.Env{}, []byte("no graph")); err == nil {
		t.Error("no graph: expected an error")
	}
}
