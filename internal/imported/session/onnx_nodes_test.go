package session_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// nodeTests returns the directory of the tests that the onnx package ships, or skips.
func nodeTests(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../../.venv/lib/python3*/site-packages/onnx/backend/test/data")
	if _, err := os.Stat("../../../.venv/ready"); err != nil || len(found) == 0 {
		t.Skip("skipped: the onnx package is not installed (make peers)")
	}
	return found[0]
}

// differs has tests that ONNX Runtime answers differently, and why: we answer as it does.
var differs = map[string]string{
	"test_qlinearmatmul_2D_int8_float16": saturates, "test_qlinearmatmul_2D_int8_float32": saturates, "test_qlinearmatmul_3D_int8_float16": saturates, "test_qlinearmatmul_3D_int8_float32": saturates,
	"test_resize_downsample_scales_cubic_align_corners": corners, "test_resize_downsample_scales_linear_align_corners": corners,
	"test_cast_FLOAT_to_STRING": digits, "test_castlike_FLOAT_to_STRING": digits, "test_castlike_FLOAT_to_STRING_expanded": digits,
	"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True": corrected,
	"test_gridsample_bicubic": short, "test_roialign_aligned_false": short, "test_roialign_aligned_true": short,
}

const (
	saturates = "ONNX Runtime: numbers beyond the type are its limits, where the test lets them overflow"
	corners   = "ONNX Runtime: the corners are those of the result, where the test takes a size that is not whole"
	corrected = "ONNX 1.23 and ONNX Runtime 1.32: what completes the last window does not count, where the test counts it"
	short     = "the test has four digits"
	digits    = "ONNX Runtime: floats have 8 digits, where the test has as many as tell them apart"
)

// TestONNXNodes runs the tests of single operators that ONNX ships: translated operators give the right results, all others are refused.
func TestONNXNodes(t *testing.T) {
	root := nodeTests(t)
	var dirs []string
	for _, kind := range []string{"node", "simple", "pytorch-operator", "pytorch-converted"} {
		found, _ := filepath.Glob(filepath.Join(root, kind, "test_*"))
		dirs = append(dirs, found...)
	}
	r := report{passed: map[string]int{}, refused: map[[2]string]int{}}
	for _, dir := range dirs {
		r.add(t, dir)
	}
	passed, refused := r.lines()
	t.Logf("%d tests, %d answered as ONNX Runtime does and not as they say\n%s", len(dirs), r.others, passed)
	const golden = "testdata/onnx_refused.txt"
	if *rewriteRefused {
		if err := os.WriteFile(golden, []byte(refused), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != refused {
		t.Errorf("%v; refused is\n%s\nexpected what %s says: -refused writes it", err, refused, golden)
	}
}

var rewriteRefused = flag.Bool("refused", false, "write testdata/onnx_refused.txt")

// TestONNXModels compares networks and classic models with ONNX Runtime. None may be refused.
func TestONNXModels(t *testing.T) {
	nodeTests(t)
	dir := t.TempDir()
	script, err := filepath.Abs("testdata/onnx_models.py")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "../../../.venv/bin/python", script, dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(dirs) < 60 {
		t.Fatalf("%d models, %v", len(dirs), err)
	}
	apart := 0
	for _, d := range dirs {
		if _, err := runNodeTest(t, d); err != nil {
			t.Errorf("%s: %v", filepath.Base(d), err)
		}
		if !strings.Contains(d, "quantized") && !strings.Contains(d, "matmul_") && !strings.Contains(d, "_matmul") && !strings.Contains(d, "QGemm") {
			continue
		}
		apart++ // devices other than the host compute 8-bit integers as floats
		if _, err := runNodeTestOn(t, d, session.Options{MaxConcurrent: 1, Device: device.NewFake()}); err != nil {
			t.Errorf("%s beside the host: %v", filepath.Base(d), err)
		}
	}
	if apart < 6 {
		t.Errorf("%d models of 8 bits", apart)
	}
}

// report has the outcomes of tests, by operator.
type report struct {
	passed  map[string]int
	refused map[[2]string]int // by operator and reason
	others  int
}

// add runs one test.
func (r *report) add(t *testing.T, dir string) {
	name := filepath.Base(dir)
	op, err := runNodeTest(t, dir)
	var u *session.UnsupportedError
	if errors.As(err, &u) && strings.Contains(err.Error(), "constant") {
		op, err = runNodeTest(t, frozen(t, dir))
	}
	switch {
	case strings.HasPrefix(name, "test_bernoulli"), strings.HasPrefix(name, "test_training_dropout") && !strings.Contains(name, "zero_ratio"):
		// Random numbers differ: see TestRandomOperators and TestDropout.
		if errors.As(err, &u) {
			t.Errorf("%s: %v", name, err)
		}
		r.others++
	case differs[name] != "":
		if err == nil {
			t.Errorf("%s passes: expected another answer, as %s", name, differs[name])
		}
		r.others++
	case errors.Is(err, errApart):
		r.refused[[2]string{op, err.Error()}]++
	case err == nil:
		r.passed[op]++
	case errors.As(err, &u):
		for _, g := range u.Gaps {
			r.refused[[2]string{g.Op, g.Why}]++
		}
	default:
		t.Errorf("%s (%s): %v", name, op, err)
	}
}

// lines returns one line per operator that passes, and one per reason for a refusal.
func (r report) lines() (passed, refused string) {
	var yes, no []string
	for op, n := range r.passed {
		yes = append(yes, fmt.Sprintf("%s: %d passed\n", op, n))
	}
	for at, n := range r.refused {
		no = append(no, fmt.Sprintf("%s: %d refused: %s\n", at[0], n, at[1]))
	}
	slices.Sort(yes)
	slices.Sort(no)
	return strings.Join(yes, ""), strings.Join(no, "")
}

// runNodeTest runs the test in one directory and returns the operator that it tests.
func runNodeTest(t *testing.T, dir string) (op string, err error) {
	return runNodeTestOn(t, dir, session.Options{MaxConcurrent: 1})
}

func runNodeTestOn(t *testing.T, dir string, o session.Options) (op string, err error) {
	m, err := onnx.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return "?", err
	}
	op = "?"
	if len(m.Graph.Nodes) > 0 {
		op = m.Graph.Nodes[0].Op
	}
	s, err := session.Open(t.Context(), dir, o)
	if err != nil {
		return op, err
	}
	defer s.Close()
	sets, _ := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	for _, set := range sets {
		if err := runNodeSet(t, s, m, set); err != nil {
			return op, err
		}
	}
	return op, nil
}

func runNodeSet(t *testing.T, s *session.Session, m *onnx.Model, set string) error {
	sig := s.Signatures()[savedmodel.DefaultSignature]
	feeds := map[string]*tensor.Tensor{}
	constants := map[string]bool{}
	for _, i := range m.Graph.Initializers {
		constants[i.Name] = true
	}
	k := 0
	for _, in := range m.Graph.Inputs {
		if constants[in.Name] {
			continue
		}
		parts, err := readValue(in, filepath.Join(set, fmt.Sprintf("input_%d.pb", k)))
		k++
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			return errApart
		}
		v := parts[0]
		if strings.HasSuffix(in.Kind, "sequence") {
			if v, err = together(parts); err != nil {
				return err
			}
		}
		if in.DType == tensor.BFloat16 && v.DType == tensor.Uint16 { // the package writes bfloat16 as uint16
			v.DType = tensor.BFloat16
		}
		feeds[sig.GetInputs()[in.Name].GetName()] = v
	}
	var fetches, names []string
	var all []*tensor.Tensor
	for i, o := range m.Graph.Outputs {
		want, err := readValue(o, filepath.Join(set, fmt.Sprintf("output_%d.pb", i)))
		if err != nil {
			return err
		}
		if strings.HasSuffix(o.Kind, "sequence") && o.DType != tensor.Invalid && sig.GetOutputs()[o.Name] != nil {
			one, err := together(want)
			if err != nil {
				return err
			}
			want = []*tensor.Tensor{one}
		}
		for k, w := range want {
			name := o.Name
			if sig.GetOutputs()[name] == nil { // an element of a sequence
				name = fmt.Sprintf("%s_%d", name, k)
			}
			fetches, names, all = append(fetches, sig.GetOutputs()[name].GetName()), append(names, name), append(all, w)
		}
	}
	got, err := s.Run(t.Context(), feeds, fetches)
	if err != nil {
		return err
	}
	for i, want := range all {
		if got[i].DType == tensor.BFloat16 && want.DType == tensor.Uint16 {
			want.DType = tensor.BFloat16
		}
		if err := equalTensors(got[i], want); err != nil {
			return fmt.Errorf("output %s: %w", names[i], err)
		}
	}
	return nil
}

// frozen is a test whose model has all inputs but the first as constants, as models have pads, axes and the like.
func frozen(t *testing.T, dir string) string {
	m, err := onnx.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	set := filepath.Join(to, "test_data_set_0")
	if err := os.CopyFS(set, os.DirFS(filepath.Join(dir, "test_data_set_0"))); err != nil {
		t.Fatal(err)
	}
	for i, in := range m.Graph.Inputs[1:] {
		v, err := readPB(filepath.Join(set, fmt.Sprintf("input_%d.pb", i+1)))
		if err != nil {
			return dir
		}
		m.Graph.Initializers = append(m.Graph.Initializers, onnx.Initializer{Name: in.Name, Tensor: v})
	}
	data, err := m.Marshal()
	if err != nil { // sequences
		return dir
	}
	if err := os.WriteFile(filepath.Join(to, "model.onnx"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func readPB(path string) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, t, err := onnx.UnmarshalTensor(data)
	return t, err
}

// errApart says that a sequence is not one tensor.
var errApart = errors.New("its sequence is no tensor, or has no element")

// together joins the elements of a sequence into one tensor.
func together(parts []*tensor.Tensor) (*tensor.Tensor, error) {
	if len(parts) == 0 {
		return nil, errApart
	}
	all := &tensor.Tensor{DType: parts[0].DType, Shape: append([]int{len(parts)}, parts[0].Shape...)}
	for _, p := range parts {
		if !slices.Equal(p.Shape, parts[0].Shape) {
			return nil, errApart
		}
		all.Bytes, all.Strings = append(all.Bytes, p.Bytes...), append(all.Strings, p.Strings...)
	}
	return all, nil
}

// readValue reads a tensor, or the elements of a sequence; an optional value is wrapped in a message.
func readValue(o onnx.Value, path string) ([]*tensor.Tensor, error) {
	if o.Kind == "" || o.Kind == "map" {
		one, err := readPB(path)
		return []*tensor.Tensor{one}, err
	}
	if one, err := readPB(path); err == nil && o.Kind == "sequence" {
		return []*tensor.Tensor{one}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return readParts(data)
}

// readParts reads the tensors of a SequenceProto or OptionalProto.
func readParts(data []byte) (all []*tensor.Tensor, err error) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		body, _ := protowire.ConsumeBytes(data[n:])
		switch number {
		case 3: // tensor_values, tensor_value
			_, t, err := onnx.UnmarshalTensor(body)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		case 5: // sequence_value of an OptionalProto
			return readParts(body)
		}
		data = data[n+size:]
	}
	return all, nil
}

// equalTensors compares: floats to 1e-5 of max(1, |value|), halves to their last digits, all else exactly.
func equalTensors(got, want *tensor.Tensor) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("got %v%v, expected %v%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if want.DType == tensor.String {
		for i := range want.Strings {
			if string(got.Strings[i]) != string(want.Strings[i]) {
				return fmt.Errorf("element %d: got %q, expected %q", i, got.Strings[i], want.Strings[i])
			}
		}
		return nil
	}
	tolerance := map[tensor.DType]float64{tensor.Float32: 1e-5, tensor.Float64: 1e-7, tensor.Float16: 4e-3, tensor.BFloat16: 1e-2}[want.DType]
	for i := range want.Len() {
		a, b := got.Float(i), want.Float(i)
		if tolerance == 0 && got.Int(i) != want.Int(i) || math.IsNaN(a) != math.IsNaN(b) || math.IsInf(a, 0) != math.IsInf(b, 0) || !math.IsInf(b, 0) && math.Abs(a-b) > tolerance*max(1, math.Abs(b)) ||
			math.IsInf(b, 0) && a != b {
			return fmt.Errorf("element %d: got %v, expected %v", i, a, b)
		}
	}
	return nil
}
