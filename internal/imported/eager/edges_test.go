package eager

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goestimator/goestimator/tensor"
)

// TestEdges: at the edges, we compute and refuse what TensorFlow 2.15 does. Where it crashes, we do not.
func TestEdges(t *testing.T) {
	var d differ
	for _, c := range readCases[goldenCase](t, "testdata/edges.json.gz") {
		d.check(t, c.Name, compare(t, c))
	}
	d.done(t, func(name string) bool { return !strings.HasPrefix(name, "sequence ") })
}

// differ checks that only known cases differ from TensorFlow, and that they still do.
type differ struct{ seen map[string]bool }

func (d *differ) check(t *testing.T, name string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case differences[name] == "":
		t.Errorf("%s: %v", name, err)
	default:
		if d.seen == nil {
			d.seen = map[string]bool{}
		}
		d.seen[name] = true
	}
}

func (d *differ) done(t *testing.T, mine func(name string) bool) {
	t.Helper()
	for name := range differences {
		if mine(name) && !d.seen[name] && differences[name] != unset {
			t.Errorf("%s agrees with TensorFlow: take it out of differences", name)
		}
	}
}

// compare runs a case and returns how its result differs from TensorFlow's.
func compare(t testing.TB, c goldenCase) error {
	n, in := c.node(t)
	out, err := Run(context.Background(), n, in, nil)
	switch {
	case c.Crash:
		return nil
	case c.Error != "" && err == nil:
		return fmt.Errorf("accepted, expected the error %q", c.Error)
	case c.Error != "":
		return nil
	case err != nil && stricter[c.Op] != "":
		return nil
	case err != nil:
		return err
	}
	if strings.HasPrefix(c.Name, "first only") {
		out, c.Outputs = out[:1], c.Outputs[:1]
	}
	if len(out) != len(c.Outputs) {
		return fmt.Errorf("got %d outputs, expected %d", len(out), len(c.Outputs))
	}
	for k := range out {
		if err := near(out[k].T, c.Outputs[k].tensor(), c.Tolerance); err != nil {
			return fmt.Errorf("output %d of %v: %w", k, n.Attrs, err)
		}
	}
	return nil
}

// TestEveryOpHasEdges: each op has cases recorded from TensorFlow for all edges that its inputs can have.
func TestEveryOpHasEdges(t *testing.T) {
	seen := map[string]map[string]bool{}
	for _, c := range slices.Concat(readGolden(t), readCases[goldenCase](t, "testdata/edges.json.gz"), stepCases(t)) {
		if seen[c.Op] == nil {
			seen[c.Op] = map[string]bool{}
		}
		c.edges(seen[c.Op])
	}
	for _, op := range slices.Sorted(maps.Keys(registry())) {
		why := unrecorded[op]
		switch {
		case seen[op] == nil && why == "":
			t.Errorf("%s has no recorded case of TensorFlow's: add one to interop/eager_edges.py", op)
		case seen[op] != nil && why != "":
			t.Errorf("%s has recorded cases: take it out of unrecorded", op)
		case seen[op] == nil:
			continue
		}
		for _, edge := range required(seen[op]) {
			excused := missing[op+": "+edge] != "" || edge == "refused" && slices.Contains(total, op)
			switch {
			case !seen[op][edge] && !excused:
				t.Errorf("%s has no recorded case of the edge %q", op, edge)
			case seen[op][edge] && excused:
				t.Errorf("%s has a recorded case of the edge %q: take it out of missing or total", op, edge)
			}
		}
	}
}

// edges notes the input types of a case, and the edges that it covers.
func (c goldenCase) edges(seen map[string]bool) {
	if c.Error != "" || c.Crash {
		seen["refused"] = true
	}
	for _, g := range c.Inputs {
		x := g.tensor()
		seen[[]string{"rank 0", "some rank"}[min(len(x.Shape), 1)]] = true
		seen["a dimension of 0"] = seen["a dimension of 0"] || x.Len() == 0
		switch {
		case x.DType == tensor.String:
			seen["strings"] = true
			for _, s := range x.Strings {
				seen["an empty string"] = seen["an empty string"] || len(s) == 0
				seen["no UTF-8"] = seen["no UTF-8"] || !utf8.Valid(s)
			}
		case x.DType.Float():
			seen["floats"] = true
			for i := range x.Len() {
				v := x.Float(i)
				seen["a zero"] = seen["a zero"] || v == 0 && !math.Signbit(v)
				seen["a negative zero"] = seen["a negative zero"] || v == 0 && math.Signbit(v)
				seen["NaN"] = seen["NaN"] || math.IsNaN(v)
				seen["infinities"] = seen["infinities"] || math.IsInf(v, 0)
			}
		case x.DType == tensor.Int32 || x.DType == tensor.Int64:
			seen["integers"] = true
			for i := range x.Len() {
				v := x.Float(i)
				seen["the largest integer"] = seen["the largest integer"] || v >= math.MaxInt32
				seen["the smallest integer"] = seen["the smallest integer"] || v <= math.MinInt32
			}
		}
	}
}

// required returns the edges that an op needs, given the input types of its cases.
func required(seen map[string]bool) (out []string) {
	if seen["rank 0"] || seen["some rank"] {
		out = append(out, "rank 0", "a dimension of 0", "refused")
	}
	if seen["strings"] {
		out = append(out, "an empty string", "no UTF-8")
	}
	if seen["floats"] {
		out = append(out, "a zero", "a negative zero", "NaN", "infinities")
	}
	if seen["integers"] {
		out = append(out, "the largest integer", "the smallest integer")
	}
	return out
}
