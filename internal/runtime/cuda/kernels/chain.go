package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

// Chain is a generated kernel: an elementwise part of a graph in one pass over memory. Equal parts give equal kernels with
// the same name.
type Chain struct {
	Kernel Kernel
	// Inputs and Outputs are the values of Call's pointers, in order. An output may have the pointer of an input with the
	// same shape and type.
	Inputs, Outputs []graph.Output

	text   string
	shape  graph.Shape
	narrow bool // indices are 32 bits wide
	checks bool // takes a Fault, too
	pack   int  // elements that a thread does at once if all pointers are aligned for it
}

// NewChain writes a kernel for nodes for which Elementwise is true, inputs first. All outputs have the same shape, to which
// other values are broadcast. Of a broadcast value, only dimension 0 may depend on the batch.
func NewChain(nodes []*graph.Node, outputs []graph.Output) (*Chain, error) {
	if len(nodes) == 0 || len(outputs) == 0 {
		return nil, errors.New("generate a kernel: expected nodes and outputs")
	}
	w := &chainWriter{c: &Chain{Outputs: slices.Clone(outputs), shape: outputs[0].Type().Shape}, names: map[graph.Output]string{}}
	for _, n := range nodes {
		if err := w.node(n); err != nil {
			return nil, fmt.Errorf("generate a kernel: node %s (%s): %w", n.Name, n.Op, err)
		}
	}
	if err := w.finish(); err != nil {
		return nil, fmt.Errorf("generate a kernel: %w", err)
	}
	return w.c, nil
}

// ChainModule returns a module of chains with each kernel once.
func ChainModule(name string, chains ...*Chain) Module {
	var text strings.Builder
	text.WriteString(libm() + chainSource)
	var all []Kernel
	for _, c := range chains {
		if slices.Contains(all, c.Kernel) {
			continue
		}
		all = append(all, c.Kernel)
		text.WriteString(c.text)
	}
	return module(name, text.String(), all...)
}

// Call returns a launch over n elements of the outputs, with pointers to Outputs and Inputs. Integer divisions by zero are
// recorded as faults, with the index of the result as the position.
func (c *Chain) Call(outputs, inputs []driver.Ptr, n int, f Fault) (Call, error) {
	if len(outputs) != len(c.Outputs) || len(inputs) != len(c.Inputs) {
		return Call{}, fmt.Errorf("launch %s: expected %d outputs and %d inputs, got %d and %d", c.Kernel.Name, len(c.Outputs), len(c.Inputs), len(outputs), len(inputs))
	}
	if n < 0 || c.narrow && n > math.MaxUint32 {
		return Call{}, fmt.Errorf("launch %s: %d elements of shape %v are too many", c.Kernel.Name, n, c.shape)
	}
	var args []any
	wide := true
	for _, p := range append(slices.Clone(outputs), inputs...) {
		args = append(args, p)
		wide = wide && p%packBytes == 0
	}
	args = append(args, n, flag(wide))
	if c.checks {
		args = append(args, f.Record, f.Operation)
	}
	grid, block := over(n)
	if wide {
		grid, block = over(n / c.pack)
	}
	return call(c.Kernel.Name, grid, block, args...), nil
}

// packBytes is the number of bytes of the widest input that a thread loads at once.
const packBytes = 16

// chainWriter writes the body of a kernel: a function of one element.
type chainWriter struct {
	c     *Chain
	names map[graph.Output]string // names of values in registers
	whole []bool                  // which inputs have the outputs' shape; the body gets their element, otherwise their pointer
	body  strings.Builder
}

func (w *chainWriter) node(n *graph.Node) error {
	if !Elementwise(n.Op) || len(n.Inputs) == 0 || len(n.Outputs) != 1 {
		return fmt.Errorf("expected an elementwise op with inputs and one output")
	}
	if err := w.fits(n.Outputs[0]); err != nil {
		return err
	}
	in := make([]string, len(n.Inputs))
	for i, v := range n.Inputs {
		var err error
		if in[i], err = w.value(v); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	text, err := expression(n, in)
	if err != nil {
		return err
	}
	w.c.checks = w.c.checks || strings.Contains(text, "fault")
	name := fmt.Sprintf("v%d", len(w.names))
	w.names[n.Out(0)] = name
	t := elementTypes[n.Outputs[0].DType].value
	fmt.Fprintf(&w.body, "  %s %s = (%s)(%s);\n", t, name, t, text)
	return nil
}

// fits checks that kernels can compute with a value's type and that it broadcasts to the outputs' shape.
func (w *chainWriter) fits(t graph.Type) error {
	if _, ok := elementTypes[t.DType]; !ok {
		return fmt.Errorf("element type %v is not supported", t.DType)
	}
	dims, full := t.Shape.Dims, w.c.shape.Dims
	if !t.Shape.Known() || !w.c.shape.Known() || len(dims) > len(full) {
		return fmt.Errorf("shape %v cannot be broadcast to %v", t.Shape, w.c.shape)
	}
	for i, d := range dims {
		if f := full[len(full)-len(dims)+i]; d != f && d != graph.Fixed(1) {
			return fmt.Errorf("shape %v cannot be broadcast to %v", t.Shape, w.c.shape)
		}
	}
	return nil
}

// value returns the name of a value, and loads it if it is an input.
func (w *chainWriter) value(v graph.Output) (string, error) {
	if name := w.names[v]; name != "" {
		return name, nil
	}
	if err := w.fits(v.Type()); err != nil {
		return "", err
	}
	at, err := w.index(v.Type().Shape)
	if err != nil {
		return "", err
	}
	name, input := fmt.Sprintf("v%d", len(w.names)), fmt.Sprintf("in%d[%s]", len(w.c.Inputs), at)
	if at == "i" {
		input = fmt.Sprintf("x%d", len(w.c.Inputs))
	}
	w.c.Inputs, w.whole = append(w.c.Inputs, v), append(w.whole, at == "i")
	w.names[v] = name
	if v.DType() == tensor.BFloat16 {
		input = "bf16_to_f32(" + input + ")"
	}
	fmt.Fprintf(&w.body, "  %s %s = %s;\n", elementTypes[v.DType()].value, name, input)
	return name, nil
}

// index writes the index of the outputs' element i in a value of the given shape. A run of dimensions that the value has
// is one coordinate: (i / elements after the run) % elements in the run.
func (w *chainWriter) index(s graph.Shape) (string, error) {
	if s.Equal(w.c.shape) {
		return "i", nil
	}
	full := w.c.shape.Dims
	dims := make([]graph.Dim, len(full))
	for i := range dims {
		dims[i] = graph.Fixed(1)
	}
	copy(dims[len(dims)-len(s.Dims):], s.Dims)
	var terms []string
	after, stride := 1, 1 // elements of the outputs and of the value after the current dimension
	for d := len(full) - 1; d >= 0; {
		has := dims[d] == full[d]
		length, outermost := 1, false
		for ; d >= 0 && (dims[d] == full[d]) == has; d-- {
			if outermost = d == 0; !outermost && !full[d].Static() {
				return "", fmt.Errorf("shape %v against %v: only dimension 0 may depend on the batch", s, w.c.shape)
			}
			if full[d].Static() {
				length *= full[d].Const
			}
		}
		if has {
			terms = append(terms, coordinate(after, length, stride, outermost))
			stride *= length
		}
		after *= length
	}
	if len(terms) == 0 {
		return "0", nil
	}
	w.c.narrow = true
	return strings.Join(terms, " + "), nil
}

// coordinate writes j / after % length * stride, without operations that change nothing.
func coordinate(after, length, stride int, outermost bool) string {
	text := "j"
	if after != 1 {
		text = fmt.Sprintf("%s / %du", text, after)
	}
	if !outermost {
		text = fmt.Sprintf("%s %% %du", text, max(length, 1))
	}
	if stride != 1 {
		text = fmt.Sprintf("(%s) * %du", text, stride)
	}
	return text
}

// finish writes the stores and puts the kernel together.
func (w *chainWriter) finish() error {
	for k, o := range w.c.Outputs {
		v, ok := w.names[o]
		if !ok || slices.Contains(w.c.Inputs, o) || !o.Type().Shape.Equal(w.c.shape) {
			return fmt.Errorf("output %d (%s): expected the result of one of the nodes, of shape %v", k, o.Node.Name, w.c.shape)
		}
		if o.DType() == tensor.BFloat16 {
			v = "f32_to_bf16(" + v + ")"
		}
		fmt.Fprintf(&w.body, "  y%d = %s;\n", k, v)
	}
	letters := strings.Repeat("p", len(w.c.Outputs)+len(w.c.Inputs)) + "li"
	if w.c.checks {
		letters += "pl"
	}
	if len(letters) > driver.MaxArgs {
		return fmt.Errorf("%d inputs and outputs: expected fewer than %d", len(w.c.Outputs)+len(w.c.Inputs), driver.MaxArgs-4)
	}
	text := w.kernel()
	sum := sha256.Sum256([]byte(text))
	w.c.Kernel = Kernel{"chain_" + hex.EncodeToString(sum[:8]), letters}
	w.c.text = strings.ReplaceAll(text, nameOfKernel, w.c.Kernel.Name)
	return nil
}

// nameOfKernel is the placeholder of the name, which is derived from the text.
const nameOfKernel = "NAME"

// kernel writes the function of one element, and the kernel that calls it for packs of elements and then for the rest.
func (w *chainWriter) kernel() string {
	var params, element, load, packed, single, store []string
	widest := 1
	for k, o := range w.c.Outputs {
		t := elementTypes[o.DType()].memory
		widest = max(widest, o.DType().Size())
		params = append(params, fmt.Sprintf("%s *out%d", t, k))
		element = append(element, fmt.Sprintf("%s &y%d", t, k))
		load = append(load, fmt.Sprintf("Pack<%s, PACK> q%d;", t, k))
		packed, single = append(packed, fmt.Sprintf("q%d.v[k]", k)), append(single, fmt.Sprintf("out%d[i]", k))
		store = append(store, fmt.Sprintf("((Pack<%s, PACK> *)out%d)[b] = q%d;", t, k, k))
	}
	for k, v := range w.c.Inputs {
		t := elementTypes[v.DType()].memory
		params = append(params, fmt.Sprintf("const %s *in%d", t, k))
		if !w.whole[k] {
			element = append(element, fmt.Sprintf("const %s *in%d", t, k))
			packed, single = append(packed, fmt.Sprintf("in%d", k)), append(single, fmt.Sprintf("in%d", k))
			continue
		}
		widest = max(widest, v.DType().Size())
		element = append(element, fmt.Sprintf("%s x%d", t, k))
		load = append(load, fmt.Sprintf("Pack<%s, PACK> p%d = ((const Pack<%s, PACK> *)in%d)[b];", t, k, t, k))
		packed, single = append(packed, fmt.Sprintf("p%d.v[k]", k)), append(single, fmt.Sprintf("in%d[i]", k))
	}
	params = append(params, "i64 n", "int wide")
	if w.c.checks {
		params, element = append(params, "i64 *fault", "i64 op"), append(element, "i64 *fault", "i64 op")
		packed, single = append(packed, "fault", "op"), append(single, "fault", "op")
	}
	head := ""
	if w.c.narrow {
		head = "  u32 j = (u32)i;\n"
	}
	w.c.pack = packBytes / widest
	list := func(of []string) string { return strings.Join(of, ", ") }
	text := "__device__ inline void NAME_at(i64 i, " + list(element) + ") {\n" + head + w.body.String() + "}\n" +
		"KERNEL NAME(" + list(params) + ") {\n  i64 whole = wide ? n / PACK : 0;\n  EACH(b, whole) {\n    " + strings.Join(load, "\n    ") +
		"\n#pragma unroll\n    for (int k = 0; k < PACK; k++) NAME_at(b * PACK + k, " + list(packed) + ");\n    " + strings.Join(store, "\n    ") + "\n  }\n" +
		"  EACH(r, n - whole * PACK) {\n    i64 i = whole * PACK + r;\n    NAME_at(i, " + list(single) + ");\n  }\n}\n"
	return strings.ReplaceAll(text, "PACK", strconv.Itoa(w.c.pack))
}
