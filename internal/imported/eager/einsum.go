package eager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// einsumOps are sums of products in Einstein notation.
var einsumOps = map[*ops.Def]maker{ops.Einsum: einsum}

// firstEllipsis is the label of the last dimension that "..." stands for; the dimensions
// before it have the next labels. Smaller labels are letters.
const firstEllipsis = 256

// einsumSpec is a parsed equation; label -1 is an ellipsis.
type einsumSpec struct {
	in  [][]int
	out []int
}

func parseEinsum(equation string) (einsumSpec, error) {
	var e einsumSpec
	left, right, ok := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	if !ok {
		return e, fmt.Errorf("equation %q: expected \"->\"", equation)
	}
	labels := func(s string) ([]int, error) {
		var out []int
		for len(s) > 0 {
			b := s[0]
			switch {
			case strings.HasPrefix(s, "...") && !slices.Contains(out, -1):
				out = append(out, -1)
				s = s[3:]
				continue
			case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
				out = append(out, int(b))
			default:
				return nil, fmt.Errorf("equation %q: expected letters and ellipses, got %q", equation, s)
			}
			s = s[1:]
		}
		return out, nil
	}
	var err error
	for _, s := range strings.Split(left, ",") {
		l, err := labels(s)
		if err != nil {
			return e, err
		}
		e.in = append(e.in, l)
	}
	if len(e.in) > 2 {
		return e, fmt.Errorf("equation %q: more than two operands %w", equation, ErrUnsupported)
	}
	if e.out, err = labels(right); err != nil {
		return e, err
	}
	for i, l := range e.out {
		if slices.Contains(e.out[:i], l) {
			return e, fmt.Errorf("equation %q: a label twice in the result %w", equation, ErrUnsupported)
		}
	}
	return e, nil
}

func einsum(s *site) (kernel, error) {
	e, err := parseEinsum(s.str("equation", ""))
	if err != nil {
		return nil, err
	}
	k := einsumOf(e, allMultiplier)
	all := numbers(k, k, nil, nil, k, k, nil, nil, nil, nil)
	return all.complexes(k, k).on(0), nil
}

// einsumSizes has the sizes of labels.
type einsumSizes map[int]int

// add notes the sizes of an operand, and returns its labels with the ellipsis expanded.
func (z einsumSizes) add(labels, shape []int) ([]int, error) {
	rest := len(shape) - len(labels)
	var out []int
	for _, l := range labels {
		if l != -1 {
			out = append(out, l)
			continue
		}
		for k := rest; k >= 0; k-- {
			out = append(out, firstEllipsis+k)
		}
	}
	if len(out) != len(shape) {
		return nil, fmt.Errorf("expected an operand of %d dimensions, got shape %v", len(out), shape)
	}
	for i, l := range out {
		d, known := z[l]
		if known && d != shape[i] && (l < firstEllipsis || d != 1 && shape[i] != 1) {
			return nil, fmt.Errorf("sizes %d and %d of one label", d, shape[i])
		}
		if !known || d == 1 {
			z[l] = shape[i]
		}
	}
	return out, nil
}

// shape returns the sizes of labels.
func (z einsumSizes) shape(labels []int) []int {
	out := make([]int, len(labels))
	for i, l := range labels {
		out[i] = z[l]
	}
	return out
}

// einsumBy is einsum for float32 with a given matrix product.
func einsumBy(s *site, of multiplying) (kernel, error) {
	e, err := parseEinsum(s.str("equation", ""))
	if err != nil {
		return nil, err
	}
	return einsumOf(e, of), nil
}

// einsumOf brings the operands into the forms [batch, left, sum] and [batch,
// sum, right], multiplies, and transposes the result.
func einsumOf(e einsumSpec, of multiplying) kernel {
	times := of(false, false)
	return func(c call) error {
		if len(c.in) != len(e.in) {
			return fmt.Errorf("expected %d operands, got %d", len(e.in), len(c.in))
		}
		in := c.in
		if len(in) == 1 {
			one := tensor.New(c.t(0).DType)
			if err := recast(one, tensor.Scalar(uint8(1))); err != nil {
				return err
			}
			in = []Value{in[0], {T: one}}
		}
		if err := sameType(in); err != nil {
			return err
		}
		z := einsumSizes{}
		labels := make([][]int, 2)
		for i := range e.in {
			l, err := z.add(e.in[i], in[i].T.Shape)
			if err != nil {
				return err
			}
			labels[i] = l
		}
		out := e.result(z)
		var batch, left, sum, right []int
		for l := range z {
			a, b, o := slices.Contains(labels[0], l), slices.Contains(labels[1], l), slices.Contains(out, l)
			switch {
			case a && b && o:
				batch = append(batch, l)
			case o && a:
				left = append(left, l)
			case o:
				right = append(right, l)
			default:
				sum = append(sum, l)
			}
		}
		for _, l := range out {
			if _, ok := z[l]; !ok {
				return fmt.Errorf("a label of the result is in no operand")
			}
		}
		for _, g := range [][]int{batch, left, sum, right} {
			slices.Sort(g)
		}
		x, err := z.arrange(c, in[0].T, labels[0], batch, left, sum)
		if err != nil {
			return err
		}
		y, err := z.arrange(c, in[1].T, labels[1], batch, sum, right)
		if err != nil {
			return err
		}
		mid := call{ctx: c.ctx, env: c.env, in: []Value{{T: x}, {T: y}}, out: make([]Value, 1)}
		if err := times(mid); err != nil {
			return err
		}
		have := slices.Concat(batch, left, right)
		steps := contiguous(z.shape(have)).steps
		from := stride{steps: make([]int, len(out))}
		for i, l := range out {
			from.steps[i] = steps[slices.Index(have, l)]
		}
		return c.box(mid.out[0].T, z.shape(out), from)
	}
}

// result returns the labels of the result with the ellipsis expanded.
func (e einsumSpec) result(z einsumSizes) []int {
	most := firstEllipsis
	for l := range z {
		most = max(most, l+1)
	}
	var out []int
	for _, l := range e.out {
		if l != -1 {
			out = append(out, l)
			continue
		}
		for k := most - 1; k >= firstEllipsis; k-- {
			out = append(out, k)
		}
	}
	return out
}

// arrange copies an operand into the form [a, b, c] of three groups of labels. It
// broadcasts along missing labels, and takes the diagonal for repeated ones.
func (z einsumSizes) arrange(c call, t *tensor.Tensor, labels []int, groups ...[]int) (*tensor.Tensor, error) {
	all := slices.Concat(groups...)
	from, in := stride{steps: make([]int, len(all))}, contiguous(t.Shape)
	for i, l := range all {
		for k, m := range labels {
			if m == l && t.Shape[k] != 1 {
				from.steps[i] += in.steps[k]
			}
		}
	}
	shape := z.shape(all)
	out, err := c.alloc(t.DType, shape...)
	if err != nil {
		return nil, err
	}
	if err := copyBox(shape, out, contiguous(shape), t, from); err != nil {
		return nil, err
	}
	out.Shape = []int{product(z.shape(groups[0])), product(z.shape(groups[1])), product(z.shape(groups[2]))}
	return out, nil
}
