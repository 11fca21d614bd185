package session_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

var fuzzed = []string{"saved_model_half_plus_two_cpu/00000123", "saved_model_half_plus_two_tf2_cpu/00000123", "saved_model_counter/00000123", "matrix_half_plus_two/1"}

// golden reads a golden's SavedModel proto.
func golden(t testing.TB, name string) (*pb.SavedModel, string) {
	t.Helper()
	dir := testkit.Shared(t, "golden/tensorflow-serving/"+name)
	data, err := os.ReadFile(filepath.Join(dir, savedmodel.BinaryFile))
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.SavedModel{}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m, dir
}

// survive loads bytes as a model, with the variables in dir, and runs all its signatures: it may return errors, but nothing worse.
func survive(t *testing.T, data []byte, dir string) {
	t.Helper()
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, savedmodel.BinaryFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, savedmodel.VariablesDir), filepath.Join(at, savedmodel.VariablesDir)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	m, err := session.Open(ctx, at, session.Options{Limit: 1 << 20})
	if err != nil {
		session.NoPanic(t, "a mutated model, loaded", err)
		return
	}
	exercise(t, ctx, m)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func exercise(t *testing.T, ctx context.Context, m *session.Session) {
	t.Helper()
	for _, sig := range m.Signatures() {
		for _, rows := range []int{1, 3} {
			feeds := map[string]*tensor.Tensor{}
			for _, in := range sig.GetInputs() {
				feeds[in.GetName()] = tensor.New(tensor.DType(in.GetDtype()%100), rows, 1)
			}
			var fetches []string
			for _, o := range sig.GetOutputs() {
				fetches = append(fetches, o.GetName())
			}
			out, err := m.Run(ctx, feeds, fetches)
			if session.NoPanic(t, "a mutated model, run", err); err == nil && len(out) != len(fetches) {
				t.Errorf("%d results of %d fetches", len(out), len(fetches))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		t.Fatal(err)
	}
}

// FuzzLoad: no input ends the process, hangs or takes much memory.
func FuzzLoad(f *testing.F) {
	for i, name := range fuzzed {
		m, _ := golden(f, name)
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, byte(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, which byte) {
		_, dir := golden(t, fuzzed[int(which)%len(fuzzed)])
		survive(t, data, dir)
	})
}

// TestMutations changes golden graphs at random: edges, ops, attributes, types, sizes.
func TestMutations(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for _, name := range fuzzed {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 9))
			original, dir := golden(t, name)
			for range rounds {
				m := proto.Clone(original).(*pb.SavedModel)
				for range 1 + r.IntN(3) {
					mutate(r, m.MetaGraphs[r.IntN(len(m.MetaGraphs))])
				}
				data, err := proto.Marshal(m)
				if err != nil {
					continue // not UTF-8
				}
				survive(t, data, dir)
			}
		})
	}
}

// mutate changes one thing.
func mutate(r *rand.Rand, mg *pb.MetaGraphDef) {
	gd := mg.GetGraphDef()
	nodes := gd.GetNode()
	if fns := gd.GetLibrary().GetFunction(); len(fns) > 0 && r.IntN(2) == 0 {
		nodes = fns[r.IntN(len(fns))].GetNodeDef()
	}
	if len(nodes) == 0 {
		return
	}
	n, other := nodes[r.IntN(len(nodes))], nodes[r.IntN(len(nodes))]
	switch r.IntN(8) {
	case 0: // another edge, perhaps closing a cycle
		if len(n.Input) > 0 {
			n.Input[r.IntN(len(n.Input))] = other.Name
		}
	case 1:
		n.Input = append(n.Input, other.Name)
	case 2:
		if len(n.Input) > 0 {
			n.Input = n.Input[1:]
		}
	case 3:
		n.Op = other.Op
	case 4:
		ops := []string{"MatMul", "Reshape", "Fill", "StridedSlice", "Conv2D", "ConcatV2", "GatherV2", "Softmax", "Mean", "Transpose", "Tile", "Range", "Einsum", "ResizeBilinear"}
		n.Op = ops[r.IntN(len(ops))]
	default:
		mutateAttr(r, n)
	}
}

// mutateAttr changes a value of an attribute.
func mutateAttr(r *rand.Rand, n *node_def_go_proto.NodeDef) {
	big := []int64{-1, 0, 3, 1 << 20, 1 << 40, 1 << 62, -1 << 63}
	for name, a := range n.GetAttr() {
		if r.IntN(2) == 0 {
			continue
		}
		switch v := a.GetValue().(type) {
		case *attr_value_go_proto.AttrValue_Tensor:
			for _, d := range v.Tensor.GetTensorShape().GetDim() {
				d.Size = big[r.IntN(len(big))]
			}
			for i := range v.Tensor.IntVal {
				v.Tensor.IntVal[i] = int32(big[r.IntN(len(big))])
			}
			if len(v.Tensor.TensorContent) > 0 {
				v.Tensor.TensorContent[r.IntN(len(v.Tensor.TensorContent))] ^= byte(r.IntN(256))
			}
		case *attr_value_go_proto.AttrValue_Shape:
			for _, d := range v.Shape.GetDim() {
				d.Size = big[r.IntN(len(big))]
			}
		case *attr_value_go_proto.AttrValue_I:
			v.I = big[r.IntN(len(big))]
		case *attr_value_go_proto.AttrValue_Type:
			v.Type += 1 + v.Type%3
		default:
			delete(n.Attr, name)
		}
		return
	}
}
