package stablehlograph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/imported/stablehlograph"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
)

// Everything that cannot be translated is named at once when the model is loaded.
func TestRefused(t *testing.T) {
	eachCase(t, "testdata/refused.tar.bz2", func(t *testing.T, r recorded) {
		_, err := session.Load(t.Context(), model(t, r["module"].Bytes, r.list("in"), r.list("out"), false), session.Options{})
		if !errors.Is(err, eager.ErrUnsupported) {
			t.Fatalf("got %v, expected a refusal", err)
		}
		for _, want := range refusals[t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]] {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, expected %q", err, want)
			}
		}
	})
}

// refusals has parts of the errors of the refused cases.
var refusals = map[string][]string{
	"bits":    {"stablehlo.rng_bit_generator", "rng_algorithm THREE_FRY"},
	"two":     {"stablehlo.custom_call lapack_sgeev", "stablehlo.rng_bit_generator"},
	"scatter": {"stablehlo.scatter", "region"},
	"float8":  {"element type f8E4M3FN"},
}

// A damaged module, or one whose arguments or results differ from its node's, is refused.
func TestWrongModules(t *testing.T) {
	eachCase(t, "testdata/jax_0.10.2.tar.bz2", func(t *testing.T, r recorded) {
		if !strings.HasSuffix(t.Name(), "/top_k") {
			return
		}
		in, out := r.list("in"), r.list("out")
		double := tensor.New(tensor.Float64, in[0].Shape...)
		for name, c := range map[string]struct {
			module  []byte
			in, out []*tensor.Tensor
			text    string
		}{
			"damage":     {r["module"].Bytes[:100], in, out, "invalid StableHLO artifact"},
			"type":       {r["module"].Bytes, []*tensor.Tensor{double}, out, "argument 0 of main is f32: expected float64"},
			"arguments":  {r["module"].Bytes, append(in, double), out, "main has 1 arguments: expected 1 more"},
			"no input":   {r["module"].Bytes, nil, out, "main has more arguments than the node: 1"},
			"results":    {r["module"].Bytes, in, out[:1], "2 results: expected 1"},
			"other type": {r["module"].Bytes, in, []*tensor.Tensor{out[1], out[0]}, "result 0 is float32: expected int32"},
		} {
			_, err := session.Load(t.Context(), model(t, c.module, c.in, c.out, false), session.Options{})
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: got %v, expected %q", name, err, c.text)
			}
		}
	})
}

// A graph without modules is returned as it is.
func TestLowerOfOthers(t *testing.T) {
	gd := &graph_go_proto.GraphDef{}
	if got, err := stablehlograph.Lower(t.Context(), gd); got != gd || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// A request that violates the module's assertions about its sizes is refused.
func TestShapeAssertions(t *testing.T) {
	eachCase(t, "testdata/jax_0.10.2.tar.bz2", func(t *testing.T, r recorded) {
		if !strings.HasSuffix(t.Name(), "/open_top_k") {
			return
		}
		in, out := r.list("in"), r.list("out")
		s, err := session.Load(t.Context(), model(t, r["module"].Bytes, in, out, true), session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		feeds := map[string]*tensor.Tensor{"x_0:0": tensor.New(tensor.Float32, 0, 4)}
		if _, err := s.Run(t.Context(), feeds, []string{"module:0"}); err == nil || !strings.Contains(err.Error(), "Input shapes do not match the polymorphic shapes specification") {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzLower: damaged modules are refused, or become other graphs.
func FuzzLower(f *testing.F) {
	for _, name := range []string{"loop_0.4.23", "loop_0.10.2"} {
		b, err := os.ReadFile("../../format/stablehlo/testdata/" + name + ".mlirbc")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	in, out := []*tensor.Tensor{tensor.New(tensor.Float32, 3)}, []*tensor.Tensor{tensor.New(tensor.Float32), tensor.New(tensor.Int32)}
	f.Fuzz(func(t *testing.T, module []byte) {
		gd, err := stablehlograph.Lower(t.Context(), model(t, module, in, out, false).Proto.GraphDef)
		if err != nil {
			t.Fatal(err)
		}
		g, err := graphdef.FromGraphDef(&graph_go_proto.GraphDef{Node: gd.Node})
		if err != nil {
			t.Fatal(err)
		}
		n := g.Node("module")
		if gaps := stablehlograph.Gaps(n); (n.Op == "XlaCallModule") != (len(gaps) > 0) {
			t.Fatal(fmt.Sprint(n.Op, gaps))
		}
	})
}

// Modules with changed bytes are refused, or become other graphs; they never panic or take long.
func TestDamagedModules(t *testing.T) {
	testkit.NotConcurrent(t)
	in, out := []*tensor.Tensor{tensor.New(tensor.Float32, 3)}, []*tensor.Tensor{tensor.New(tensor.Float32), tensor.New(tensor.Int32)}
	whole, err := os.ReadFile("../../format/stablehlo/testdata/loop_0.10.2.mlirbc")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		bad := slices.Clone(whole)
		for range 1 + r.IntN(3) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		if _, err := stablehlograph.Lower(t.Context(), model(t, bad, in, out, false).Proto.GraphDef); err != nil {
			t.Fatal(err)
		}
	}
}
