package distribute

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/settings"
	"github.com/goestimator/goestimator/tensor"
)

// digester computes a digest of each node from its op and the digests of its inputs.
type digester struct{ seen map[*graph.Node]string }

func (d digester) output(o graph.Output) string {
	if !o.Valid() {
		return "none"
	}
	return fmt.Sprintf("%s:%d", d.node(o.Node), o.Index)
}

func (d digester) node(n *graph.Node) string {
	if digest, ok := d.seen[n]; ok {
		return digest
	}
	var text strings.Builder
	fmt.Fprintln(&text, n.Op, n.Outputs)
	if len(n.Inputs) == 0 && n.Op != "Const" {
		fmt.Fprintln(&text, n.Name) // a feed, a variable
	}
	for _, in := range n.Inputs {
		fmt.Fprintln(&text, d.output(in))
	}
	for _, c := range n.Control {
		fmt.Fprintln(&text, "^", d.node(c))
	}
	describeAttrs(&text, n.Attrs)
	digest := settings.Digest([]byte(text.String()))
	d.seen[n] = digest
	return digest
}

// describeAttrs writes attributes, except private ones, which a task may add while it compiles.
func describeAttrs(text *strings.Builder, attrs graph.Attrs) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !strings.HasPrefix(name, "_") {
			fmt.Fprintf(text, "%q ", name)
			describeAttr(text, attrs[name])
		}
	}
}

func describeAttr(text *strings.Builder, v any) {
	switch v := v.(type) {
	case *tensor.Tensor:
		describeTensor(text, v)
	case []*tensor.Tensor:
		for _, t := range v {
			describeTensor(text, t)
		}
	case graph.Func:
		fmt.Fprintf(text, "%q\n", v.Name)
		describeAttrs(text, v.Attrs)
	case []graph.Func:
		for _, f := range v {
			describeAttr(text, f)
		}
	default: // numbers, strings, types, shapes, lists of them
		fmt.Fprintf(text, "%T %v\n", v, v)
	}
}

// describeTensor writes a constant, except keys of random numbers, which follow from the seed.
func describeTensor(text *strings.Builder, t *tensor.Tensor) {
	fmt.Fprintln(text, t.DType, t.Shape)
	if t.DType != tensor.Uint64 {
		fmt.Fprintf(text, "%s %q\n", settings.Digest(t.Bytes), t.Strings)
	}
}
