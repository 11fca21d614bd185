package stablehlograph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
)

// Gap is an operation of StableHLO, or a part of one, that cannot be translated.
type Gap struct {
	Op  string
	Why string
	N   int // the number of operations in the module that need it
}

// refusal is the panic value that ends the translation of an operation.
type refusal struct{ why string }

// refuse ends the translation of the current operation.
func refuse(format string, args ...any) { panic(refusal{fmt.Sprintf(format, args...)}) }

// gaps counts what is missing in a module.
type gaps map[Gap]int

func (g gaps) add(op, why string) { g[Gap{Op: op, Why: why}]++ }

// gapsAttr is the attribute in which a node keeps its module's gaps.
const gapsAttr = "_stablehlo_gaps"

// list returns the gaps as an attribute: strings of three lines.
func (g gaps) list() *attr_value_go_proto.AttrValue {
	list := &attr_value_go_proto.AttrValue_ListValue{}
	for k, n := range g {
		list.S = append(list.S, fmt.Appendf(nil, "%s\n%d\n%s", k.Op, n, k.Why))
	}
	return &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_List{List: list}}
}

// Gaps returns what is missing in the module of a node that Lower has left as it is, nil for other nodes.
func Gaps(n *graph.Node) (all []Gap) {
	list, ok := n.Attrs[gapsAttr].([][]byte)
	if n.Op != callModule || !ok {
		return nil
	}
	for _, text := range list {
		parts := strings.SplitN(string(text), "\n", 3)
		if len(parts) != 3 {
			continue
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			continue
		}
		all = append(all, Gap{Op: parts[0], Why: parts[2], N: n})
	}
	slices.SortFunc(all, func(a, b Gap) int { return cmp.Or(strings.Compare(a.Op, b.Op), strings.Compare(a.Why, b.Why)) })
	return all
}
