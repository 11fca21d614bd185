package stablehlo_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// artifacts are the same program written by two versions of JAX: a loop, a sum and an argmax of 3 floats.
var artifacts = []string{"loop_0.4.23", "loop_0.10.2"}

func artifact(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".mlirbc")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// operations returns all operations of a module. Those of a region come after the operation that has it.
func operations(m *stablehlo.Module) (all []*stablehlo.Op) {
	var walk func(r *stablehlo.Region)
	walk = func(r *stablehlo.Region) {
		for _, op := range r.Ops {
			all = append(all, op)
			for _, inner := range op.Regions {
				walk(inner)
			}
		}
	}
	for _, f := range m.Functions {
		walk(f.Body)
	}
	return all
}

func TestRead(t *testing.T) {
	for _, name := range artifacts {
		m, err := stablehlo.Read(artifact(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.HasPrefix(m.Producer, "StableHLO_v") || m.Functions[0].Name != "main" {
			t.Errorf("%s: got producer %q, function %q", name, m.Producer, m.Functions[0].Name)
		}
		main := m.Functions[0].Body
		if want := (stablehlo.Type{Kind: stablehlo.Tensor, Name: "f32", DType: tensor.Float32, Dims: []int{3}}); len(main.Args) != 1 || !reflect.DeepEqual(main.Args[0].Type, want) {
			t.Errorf("%s: got arguments %v", name, main.Args)
		}
		seen := map[string]*stablehlo.Op{}
		for _, op := range operations(m) {
			if op.Dialect != "vhlo" {
				t.Errorf("%s: operation %s.%s", name, op.Dialect, op.Name)
			}
			if seen[op.Name] == nil {
				seen[op.Name] = op
			}
		}
		for _, want := range []string{"while", "tanh", "reduce", "compare", "select", "return", "add"} {
			if seen[want] == nil {
				t.Errorf("%s: no operation %s", name, want)
			}
		}
		if w := seen["while"]; len(w.Regions) != 2 || len(w.Operands) != len(w.Results) {
			t.Errorf("%s: a loop of %d regions", name, len(w.Regions))
		}
		if got := seen["compare"].Attrs["comparison_direction"]; got != stablehlo.Enum("LT") {
			t.Errorf("%s: got direction %v", name, got)
		}
	}
}

// Constants: numbers, splats, and bools, which are packed.
func TestConstants(t *testing.T) {
	for _, name := range artifacts {
		m, err := stablehlo.Read(artifact(t, name))
		if err != nil {
			t.Fatal(err)
		}
		bools := false
		for _, op := range operations(m) {
			if op.Name != "constant" {
				continue
			}
			k, ok := op.Attrs["value"].(*stablehlo.Constant)
			if !ok {
				t.Fatalf("%s: a constant %v", name, op.Attrs)
			}
			n := tensor.NumElements(k.Type.Dims)
			if k.Splat {
				n = 1
			}
			if len(k.Bytes) != n*k.Type.DType.Size() {
				t.Errorf("%s: a constant of type %v with %d bytes", name, k.Type, len(k.Bytes))
			}
			if k.Type.DType == tensor.Bool && slices.Equal(k.Type.Dims, []int{3}) {
				bools = bytes.Equal(k.Bytes, []byte{1, 0, 1})
			}
		}
		if !bools {
			t.Errorf("%s: no constant [true false true]", name)
		}
	}
}

// Truncated or changed data is an error or another program, never a panic.
func TestDamage(t *testing.T) {
	for _, name := range artifacts {
		whole := artifact(t, name)
		for n := range whole {
			if _, err := stablehlo.Read(whole[:n]); !errors.Is(err, stablehlo.ErrInvalid) {
				t.Errorf("%s: the first %d of %d bytes: %v", name, n, len(whole), err)
			}
			for _, v := range []byte{0, 1, 0x80, 0xFF} {
				bad := slices.Clone(whole)
				bad[n] = v
				if _, err := stablehlo.Read(bad); err != nil && !errors.Is(err, stablehlo.ErrInvalid) {
					t.Errorf("%s: byte %d as %d: %v", name, n, v, err)
				}
			}
		}
	}
	for text, bad := range map[string]string{"expected MLIR bytecode": "MLIR", "bytecode of version 7": "ML\xefR\x0f"} {
		if _, err := stablehlo.Read([]byte(bad)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v, expected %q", bad, err, text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range artifacts {
		f.Add(artifact(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := stablehlo.Read(data)
		if err != nil {
			if !errors.Is(err, stablehlo.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if n := len(operations(m)); n > len(data) {
			t.Fatalf("%d operations in %d bytes", n, len(data))
		}
	})
}
