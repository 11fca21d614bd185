package functionalize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/functionalize"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
)

// TestDeep: nested conditions are converted once each, although each passes the inner ones on.
func TestDeep(t *testing.T) {
	const depth = 60
	lines := []string{"Placeholder x0"}
	pred := func(i, at int) string { return fmt.Sprintf("p%d_%d", i, at) }
	for i := range depth {
		lines = append(lines, "Placeholder "+pred(i, 0))
	}
	for d := range depth {
		lines = append(lines, fmt.Sprintf("Switch s%d x%d %s", d, d, pred(d, d)), fmt.Sprintf("Identity x%d s%d:1", d+1, d))
		for i := d + 1; i < depth; i++ {
			lines = append(lines, fmt.Sprintf("Switch g%d_%d %s %s", i, d, pred(i, d), pred(d, d)), fmt.Sprintf("Identity %s g%d_%d:1", pred(i, d+1), i, d))
		}
	}
	in := fmt.Sprintf("x%d", depth)
	for d := depth - 1; d >= 0; d-- {
		lines = append(lines, fmt.Sprintf("Merge m%d s%d %s", d, d, in))
		in = fmt.Sprintf("m%d", d)
	}
	made, err := functionalize.Graph(graphOf(t, lines...), []string{in}, nil)
	if err != nil || len(made) != 2*depth {
		t.Errorf("%d functions, %v: expected %d", len(made), err, 2*depth)
	}
}

// TestShared: nodes shared by many conditions, unlike in tf.cond, do not fill the memory.
func TestShared(t *testing.T) {
	lines := []string{"Const big", "Placeholder x"}
	var keep []string
	for i := range 10 {
		keep = append(keep, fmt.Sprintf("m%d", i))
		lines = append(lines, fmt.Sprintf("Placeholder p%d", i), fmt.Sprintf("Switch s%d x p%d", i, i), fmt.Sprintf("AddV2 a%d s%d big", i, i),
			fmt.Sprintf("AddV2 b%d s%d:1 big", i, i), fmt.Sprintf("Merge m%d a%d b%d", i, i, i))
	}
	gd := graphOf(t, lines...)
	gd.Node[0].Attr["value"] = &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_Tensor{Tensor: &tensor_go_proto.TensorProto{TensorContent: make([]byte, 1<<25)}}}
	if _, err := functionalize.Graph(gd, keep, nil); err == nil || !strings.Contains(err.Error(), "share so much") {
		t.Errorf("%v: expected an error", err)
	}
}

// TestFed: a branch gets a fed value from the condition's graph, even if no Switch passes it on.
func TestFed(t *testing.T) {
	gd := graphOf(t, "Const c", "PlaceholderWithDefault x c", "Placeholder p", "Switch s p p", "Identity in s", "Neg a x ^in", "Identity b s:1", "Merge y a b")
	if _, err := functionalize.Graph(gd, []string{"y"}, nil); err != nil {
		t.Fatal(err)
	}
	same(t, gd, "Const c", "PlaceholderWithDefault x c", "Placeholder p", "If y/If p p x", "Identity y y/If")
}
