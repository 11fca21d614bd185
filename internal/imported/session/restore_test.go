package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Variables may be restored twice, and small ones often, but not without limit.
func TestRestoresAreBounded(t *testing.T) {
	prefix := t.TempDir() + "/variables"
	w, err := bundle.NewWriter(atomicfile.OS{}, prefix, 1)
	if err != nil {
		t.Fatal(err)
	}
	large := tensor.New(tensor.Float32, restoresBesides/4)
	if err := w.Add("large", large); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	r, err := bundle.Open(atomicfile.OS{}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	restoring := restoresOf(r)
	for i := range 10 {
		if err := restoring(restoresBesides); (err == nil) != (i < 3) {
			t.Errorf("time %d: %v", i, err)
		}
	}
}

// copiesText is a model whose restore op assigns a copy of a variable. Signatures read the variable.
const copiesText = `
	graph_def {
		node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
		node { name: "kernel" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "layer/kernel" } } }
		node { name: "copy" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
		node { name: "call" op: "PartitionedCall" input: "x" input: "kernel" input: "^x" attr { key: "f" value { func { name: "f" } } }
			attr { key: "Tin" value { list { type: DT_FLOAT type: DT_RESOURCE } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } }
		node { name: "file" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
		node { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } } attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "key of copy" } } } }
		node { name: "slices" op: "Const" attr { key: "dtype" value { type: DT_STRING } } attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "" } } } }
		node { name: "read" op: "RestoreV2" input: "file" input: "names" input: "slices" attr { key: "dtypes" value { list { type: DT_FLOAT } } } }
		node { name: "restore" op: "AssignVariableOp" input: "%s" input: "read" attr { key: "dtype" value { type: DT_FLOAT } } }
		library { function {
			signature { name: "f" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "v" type: DT_RESOURCE } output_arg { name: "y" type: DT_FLOAT } }
			node_def { name: "r" op: "ReadVariableOp" input: "v" attr { key: "dtype" value { type: DT_FLOAT } } }
			node_def { name: "m" op: "Mul" input: "x" input: "r:value:0" attr { key: "T" value { type: DT_FLOAT } } }
			ret { key: "y" value: "m:z:0" } } }
	}
	saver_def { filename_tensor_name: "file:0" restore_op_name: "restore" }
	signature_def { key: "serving_default" value { inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT } } outputs { key: "y" value { name: "call:0" dtype: DT_FLOAT } } } }
	object_graph_def {
		nodes { children { node_id: 2 local_name: "layer" } children { node_id: 1 local_name: "f" } children { node_id: 9 local_name: "gone" } }
		nodes { }
		nodes { children { node_id: 3 local_name: "kernel" } children { node_id: 0 local_name: "parent" } }
		nodes { }
		concrete_functions { key: "f" value { bound_inputs: 3 } }
	}`

// storedText is the object graph of its checkpoint, which numbers objects differently.
const storedText = `
	nodes { children { node_id: 1 local_name: "layer" } children { node_id: 7 local_name: "f" } }
	nodes { children { node_id: 2 local_name: "kernel" } }
	nodes { attributes { name: "OTHER" checkpoint_key: "key of copy" } attributes { name: "VARIABLE_VALUE" checkpoint_key: "key of kernel" } }`

// A variable that the restore op leaves out gets its object's value; others keep the restore op's value. Unread variables are dropped.
func TestRestoreByObjects(t *testing.T) {
	for name, c := range map[string]struct {
		assigns, stored string
		kernel          *tensor.Tensor
		want            float32
		says            string
	}{
		"copy":     {"copy", storedText, tensor.Scalar(float32(3)), 6, ""},
		"itself":   {"kernel", storedText, tensor.Scalar(float32(3)), 14, ""},
		"no child": {"copy", strings.Replace(storedText, `"kernel"`, `"bias"`, 1), tensor.Scalar(float32(3)), 0, "layer/kernel"},
		"no value": {"copy", strings.Replace(storedText, "VARIABLE_VALUE", "TABLE", 1), tensor.Scalar(float32(3)), 0, "layer/kernel"},
		"no key":   {"copy", strings.Replace(storedText, "key of kernel", "key of nobody", 1), tensor.Scalar(float32(3)), 0, "layer/kernel"},
		"type":     {"copy", storedText, tensor.Scalar(int64(3)), 0, "expected float32"},
		"none":     {"copy", "", tensor.Scalar(float32(3)), 0, "layer/kernel"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stored := &pb.TrackableObjectGraph{}
			if err := prototext.Unmarshal([]byte(c.stored), stored); err != nil {
				t.Fatal(err)
			}
			data, err := proto.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := tensor.FromStrings([][]byte{data})
			if err != nil {
				t.Fatal(err)
			}
			writeBundle(t, dir, map[string]*tensor.Tensor{"key of kernel": c.kernel, "key of copy": tensor.Scalar(float32(7)), "_CHECKPOINTABLE_OBJECT_GRAPH": objects})
			mg := &pb.MetaGraphDef{}
			if err := prototext.Unmarshal(fmt.Appendf(nil, copiesText, c.assigns), mg); err != nil {
				t.Fatal(err)
			}
			s, err := Load(t.Context(), &savedmodel.MetaGraph{Dir: dir, Signatures: mg.GetSignatureDef(), Proto: mg}, Options{})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("got %v, expected an error that says %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			x, err := tensor.FromSlice([]float32{2}, 1)
			if err != nil {
				t.Fatal(err)
			}
			y, err := s.Run(context.Background(), map[string]*tensor.Tensor{"x:0": x}, []string{"call:0"})
			if err != nil {
				t.Fatal(err)
			}
			if got := tensor.Values[float32](y[0])[0]; got != c.want {
				t.Errorf("got %v, expected %v", got, c.want)
			}
			if _, err := s.env.Resources.Variable("copy").Load(); c.assigns == "copy" && !errors.Is(err, eager.ErrUninitialized) {
				t.Errorf("the copy is still there: %v", err)
			}
		})
	}
}

// writeBundle writes the variables of a model to dir.
func writeBundle(t *testing.T, dir string, values map[string]*tensor.Tensor) {
	t.Helper()
	prefix := filepath.Join(dir, savedmodel.VariablesPrefix)
	if err := os.MkdirAll(filepath.Dir(prefix), 0o777); err != nil {
		t.Fatal(err)
	}
	w, err := bundle.NewWriter(atomicfile.OS{}, prefix, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range values {
		if err := w.Add(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}
