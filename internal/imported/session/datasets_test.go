package session

import (
	"context"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

// datasetModel passes over datasets of x numbers: "sum" of their squares, two at a time and in parallel; "next", the sum of the
// first two that an iterator returns; "whole", all in one batch; "padded", one number in x places; "late", the first number from x on;
// "grown", a state of 64 KiB that x numbers are added to.
func datasetModel(t *testing.T) *Session {
	t.Helper()
	const element = ` attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape { unknown_rank: true } } } } `
	const typed = ` attr { key: "T" value { type: DT_INT64 } } `
	node := func(text string) string { return "node { " + text + " }\n" }
	constant := func(name, value string) string {
		return `{ name: "` + name + `" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: ` + value + ` } } } }`
	}
	reduce := func(name, of, state, f string) string {
		return node(`name: "` + name + `" op: "ReduceDataset" input: "` + of + `" input: "` + state + `" attr { key: "f" value { func { name: "` + f + `" } } } attr { key: "Tstate" value { list { type: DT_INT64 } } } attr { key: "Targuments" value { list {} } }` + element)
	}
	text := node(`name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "shape" value { shape {} } }`) +
		"node " + constant("zero", "0") + " node " + constant("one", "1") + " node " + constant("two", "2") + " node " + constant("many", "8192") +
		node(`name: "no" op: "Const" attr { key: "dtype" value { type: DT_BOOL } } attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: false } } }`) +
		node(`name: "sizes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 } } }`) +
		node(`name: "range" op: "RangeDataset" input: "zero" input: "x" input: "one"`+element) +
		node(`name: "squares" op: "ParallelMapDatasetV2" input: "range" input: "two" attr { key: "Targuments" value { list {} } } attr { key: "f" value { func { name: "square" } } }`+element) +
		node(`name: "pairs" op: "BatchDatasetV2" input: "squares" input: "two" input: "no"`+element) +
		node(`name: "ahead" op: "PrefetchDataset" input: "pairs" input: "two"`+element) +
		reduce("sum", "ahead", "zero", "add") +
		node(`name: "it" op: "AnonymousIteratorV3"`+element) +
		node(`name: "begin" op: "MakeIterator" input: "squares" input: "it"`) +
		node(`name: "first" op: "IteratorGetNext" input: "it" input: "^begin"`+element) +
		node(`name: "second" op: "IteratorGetNext" input: "it" input: "^first"`+element) +
		node(`name: "next" op: "AddV2" input: "first" input: "second"`+typed) +
		node(`name: "all" op: "BatchDatasetV2" input: "range" input: "x" input: "no"`+element) +
		node(`name: "whole" op: "DatasetToSingleElement" input: "all"`+element) +
		node(`name: "given" op: "TensorDataset" input: "row" attr { key: "Toutput_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape { unknown_rank: true } } } }`) +
		node(`name: "row" op: "Reshape" input: "one" input: "sizes" attr { key: "Tshape" value { type: DT_INT32 } }`+typed) +
		node(`name: "wide" op: "Reshape" input: "x" input: "sizes" attr { key: "Tshape" value { type: DT_INT32 } }`+typed) +
		node(`name: "wider" op: "PaddedBatchDatasetV2" input: "given" input: "one" input: "wide" input: "zero" input: "no" attr { key: "N" value { i: 1 } } attr { key: "Toutput_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape { unknown_rank: true } } } }`) +
		node(`name: "padded" op: "DatasetToSingleElement" input: "wider"`+element) +
		node(`name: "endless" op: "RepeatDataset" input: "given" input: "minus"`+element) + "node " + constant("minus", "-1") +
		node(`name: "skipped" op: "SkipDataset" input: "endless" input: "x"`+element) +
		node(`name: "some" op: "TakeDataset" input: "skipped" input: "one"`+element) +
		node(`name: "late" op: "DatasetToSingleElement" input: "some"`+element) +
		node(`name: "long" op: "Reshape" input: "many" input: "sizes" attr { key: "Tshape" value { type: DT_INT32 } }`+typed) +
		node(`name: "state" op: "Fill" input: "long" input: "zero" attr { key: "index_type" value { type: DT_INT64 } }`+typed) +
		reduce("grown", "range", "state", "widen") +
		`library {
			function { signature { name: "square" input_arg { name: "v" type: DT_INT64 } output_arg { name: "r" type: DT_INT64 } }
				node_def { name: "m" op: "Mul" input: "v" input: "v"` + typed + `} ret { key: "r" value: "m:z:0" } }
			function { signature { name: "widen" input_arg { name: "s" type: DT_INT64 } input_arg { name: "v" type: DT_INT64 } output_arg { name: "r" type: DT_INT64 } }
				node_def { name: "m" op: "AddV2" input: "s" input: "v"` + typed + `} ret { key: "r" value: "m:z:0" } }
			function { signature { name: "add" input_arg { name: "s" type: DT_INT64 } input_arg { name: "v" type: DT_INT64 } output_arg { name: "r" type: DT_INT64 } }
				node_def { name: "k" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
				node_def { name: "all" op: "Sum" input: "v" input: "k:output:0" attr { key: "Tidx" value { type: DT_INT32 } }` + typed + `}
				node_def { name: "m" op: "AddV2" input: "s" input: "all:output:0"` + typed + `} ret { key: "r" value: "m:z:0" } } }`
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(text), gd); err != nil {
		t.Fatal(err)
	}
	info := func(names ...string) map[string]*pb.TensorInfo {
		all := map[string]*pb.TensorInfo{}
		for _, name := range names {
			all[name] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: name + ":0"}, Dtype: types_go_proto.DataType_DT_INT64}
		}
		return all
	}
	sigs := map[string]*pb.SignatureDef{}
	for _, name := range []string{"sum", "next", "whole", "padded", "late", "grown"} {
		sigs[name] = &pb.SignatureDef{Inputs: info("x"), Outputs: info(name)}
	}
	s, err := Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sigs, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestDatasetsOfARequest: passes over a request's own datasets, with and without an account.
func TestDatasetsOfARequest(t *testing.T) {
	s := datasetModel(t)
	counted, a := asked(t, 16)
	for _, ctx := range []context.Context{t.Context(), counted} {
		for _, c := range []struct {
			of   string
			x    int64
			want int64
			code codes.Code
		}{
			{"sum", 10, 285, codes.OK}, {"sum", 1, 0, codes.OK}, {"sum", 0, 0, codes.OK}, {"sum", -3, 0, codes.OK},
			{"next", 2, 1, codes.OK}, {"next", 1, 0, codes.InvalidArgument}, {"whole", 1, 0, codes.OK}, {"whole", 0, 0, codes.InvalidArgument},
			{"padded", 1, 1, codes.OK}, {"late", 3, 1, codes.OK}, {"grown", 4, 6, codes.OK},
		} {
			out, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.Scalar(c.x)}, []string{c.of + ":0"})
			if status.Code(err) != c.code {
				t.Errorf("%s of %d: %v, expected %v", c.of, c.x, err, c.code)
			} else if err == nil && tensor.Values[int64](out[0])[0] != c.want {
				t.Errorf("%s of %d: %d, expected %d", c.of, c.x, tensor.Values[int64](out[0])[0], c.want)
			}
			a.Release(int(a.Held()))
		}
	}
}

// TestMemoryOfDatasets: what a pass keeps is bounded by the request's limit; the memory of past elements is given back.
func TestMemoryOfDatasets(t *testing.T) {
	s := datasetModel(t)
	for _, c := range []struct {
		of      string
		x       int64
		refused bool
	}{{"whole", 1000, false}, {"whole", 1 << 40, true}, {"whole", 1<<63 - 1, true}, {"padded", 1 << 20, false}, {"padded", 9 << 20, true}, {"padded", 1 << 40, true}, {"grown", 2000, false}} {
		ctx, a := asked(t, 16)
		out, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.Scalar(c.x)}, []string{c.of + ":0"})
		over := (*budget.Error)(nil)
		switch {
		case c.refused && status.Code(err) != codes.InvalidArgument && !errors.As(err, &over):
			t.Errorf("%s of %d: %v, expected to be refused", c.of, c.x, err)
		case !c.refused && (err != nil || a.Held() != int64(out[0].MemoryBytes())):
			t.Errorf("%s of %d: %v, %d bytes are held", c.of, c.x, err, a.Held())
		case c.refused && a.Held() != 0:
			t.Errorf("%s of %d: %d bytes are held", c.of, c.x, a.Held())
		}
	}
}

// TestDatasetsEndWithTheRequest: a pass that yields nothing for long ends with its request.
func TestDatasetsEndWithTheRequest(t *testing.T) {
	s := datasetModel(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Run(ctx, map[string]*tensor.Tensor{"x:0": tensor.Scalar(int64(1 << 62))}, []string{"late:0"})
		ended <- err
	}()
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
}
