package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	at "github.com/goestimator/goestimator/internal/testkit/edgecases"
	"github.com/goestimator/goestimator/tensor"
)

// edgeFamilies are the tables of ops that compute with single floats, or choose among them. The gradient tests of models/ops
// cover edge cases of other ops, including definedOps.
var edgeFamilies = []map[*ops.Def]opDef{unaryOps, binaryOps, reduceOps, softmaxOps}

// edgeCase is a case of the contract at edge cases.
type edgeCase struct {
	*contract
	style at.Style
	in    []*tensor.Tensor
	rows  int
}

func (k *edgeCase) name() string {
	return fmt.Sprintf("%s/%v/%v/%s", k.c.op, k.c.label(), k.d, k.style.Name)
}

// pairwise reports whether every element of the result depends on one element of each operand.
func (c *opCase) pairwise() bool {
	for _, o := range c.in {
		if o.typ.DType != tensor.Float32 || o.constant || !o.typ.Shape.Equal(c.out[0].Shape) {
			return false
		}
	}
	return len(c.in) <= 2 && len(c.out) == 1 && len(c.out[0].Shape.Dims) == 2 && !strings.Contains(c.op, "Softmax") && c.op != "AddN"
}

// edgeCases draws a case in one float type.
func edgeCases(c *opCase, d tensor.DType) []*edgeCase {
	styles := at.Styles(d)
	if c.pairwise() {
		if styles = []at.Style{at.All(d)}; len(c.in) == 2 {
			styles = []at.Style{at.Pairs()}
		}
	}
	var out []*edgeCase
	for _, s := range styles {
		if s.Name == at.Tiny || strings.HasSuffix(c.op, "Grad") && !s.Ordinary() {
			continue // models/ops has them; results of activations are not large
		}
		k := &edgeCase{contract: &contract{c: c, d: d}, style: s, rows: 4}
		r := rand.New(rand.NewPCG(8, 9))
		var sets [][]float64
		if c.pairwise() {
			sets = at.Product(slices.Repeat([][]float64{s.Values}, len(c.in))...)
			width := c.out[0].Shape.Dims[1].Const
			k.rows = (len(sets[0]) + width - 1) / width
		}
		for i, o := range c.in {
			typ := withFloat(o.typ, d)
			x := nd{typ.Shape.At(k.rows), o.values}
			if !o.constant {
				x = newND(x.shape)
				for j := range x.data {
					switch {
					case sets != nil:
						x.data[j] = sets[i][j%len(sets[i])]
					case typ.DType.Float():
						x.data[j] = s.Values[r.IntN(len(s.Values))]
					default:
						x.data[j] = o.gen(r, j)
					}
				}
			}
			k.in = append(k.in, fromND(typ.DType, x))
		}
		out = append(out, k)
	}
	return out
}

// ask returns the case for TensorFlow.
func (k *edgeCase) ask(t *testing.T) at.Case {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	c := at.Case{Name: k.name()}
	var in []graph.Output
	for i, o := range k.c.in {
		name, typ := fmt.Sprintf("in%d", i), withFloat(o.typ, k.d)
		if o.constant {
			in = append(in, b.Const(name, k.in[i]))
			continue
		}
		in = append(in, b.Placeholder(name, graph.Type{DType: typ.DType, Shape: graph.Shape{UnknownRank: true}}))
		c.Feeds = append(c.Feeds, at.Of(name, k.in[i]))
	}
	var out []graph.Type
	for i, o := range k.c.out {
		out = append(out, graph.Type{DType: withFloat(o, k.d).DType, Shape: graph.Shape{UnknownRank: true}})
		c.Fetches = append(c.Fetches, fmt.Sprint("op:", i))
	}
	b.Node(k.c.op, "op", out, k.c.attrs, in...)
	c.Graph = ok(graphdef.Marshal(b.Graph))
	return c
}

// TestEdgeCases compares ops with TensorFlow's ops of the same name at edge cases and every SIMD level: two cases of each op in
// edgeFamilies that takes floats.
func TestEdgeCases(t *testing.T) {
	var all []*edgeCase
	var asked []at.Case
	count := map[string]int{}
	for _, c := range allCases() {
		feeds := slices.ContainsFunc(c.in, func(o operand) bool { return o.typ.DType == tensor.Float32 && !o.constant })
		compared := slices.ContainsFunc(edgeFamilies, func(f map[*ops.Def]opDef) bool { _, has := f[ops.Find(c.op)]; return has })
		if !feeds || !compared {
			continue
		}
		if count[c.op]++; count[c.op] > 2 {
			continue
		}
		for _, d := range c.types() {
			for _, k := range edgeCases(c, d) {
				all, asked = append(all, k), append(asked, k.ask(t))
			}
		}
	}
	answered := at.Answered(t, asked)
	for i, k := range all {
		t.Run(k.name(), func(t *testing.T) {
			if answered[i].Error != "" {
				t.Fatalf("TensorFlow has no answer: %s", answered[i].Error)
			}
			dev := device.NewHost()
			defer dev.Close()
			k.build(t, dev, k.rows)
			k.check(t, answered[i].Want)
		})
	}
}

func (k *edgeCase) check(t *testing.T, want []at.Tensor) {
	var feeds []*tensor.Tensor
	for i, o := range k.c.in {
		if !o.constant {
			feeds = append(feeds, k.in[i])
		}
	}
	defer kernels.SetLevel(kernels.BestLevel())
	for level := kernels.Portable; level <= kernels.BestLevel(); level++ {
		kernels.SetLevel(level)
		if err := k.p.Run(bg, k.rows, feeds); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			differ, err := at.Differences(k.p.Value(i), want[i], 2e-5)
			if err != nil {
				t.Fatal(err)
			}
			differ = slices.DeleteFunc(differ, func(e int) bool {
				return k.style.Name == "all" && at.Between(k.p.Value(i), want[i].Graph(), e, k.in[0].Float(e), 2e-5)
			})
			for _, e := range differ[:min(len(differ), 5)] {
				t.Errorf("%v, result %d, element %d: got %v, TensorFlow %v%s", level, i, e, k.p.Value(i).Float(e), want[i].Graph().Float(e), k.operandsAt(e))
			}
		}
	}
}

// operandsAt returns the operands' elements for element i of a pairwise result.
func (k *edgeCase) operandsAt(i int) string {
	if !k.c.pairwise() {
		return ""
	}
	s := " of"
	for _, x := range k.in {
		s += fmt.Sprint(" ", x.Float(i))
	}
	return s
}
