package eager

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// stringFormat replaces the placeholders of a template by the texts of tensors.
func stringFormat(s *site) (kernel, error) {
	placeholder, most := s.str("placeholder", "%s"), s.node.Int("summarize", 3)
	if placeholder == "" {
		return nil, fmt.Errorf("attribute placeholder: expected a text")
	}
	between := strings.Split(s.str("template", "%s"), placeholder)
	return func(c call) error {
		if len(between) != len(c.in)+1 {
			return fmt.Errorf("num placeholders in template and num inputs must match: %d vs. %d", len(between)-1, len(c.in))
		}
		w := tensorText{room: c.textRoom()}
		w.add(between[0])
		for i := range c.in {
			t := c.in[i].T
			if t != nil && t.DType.Half() { // formatted with float32's digits
				var err error
				if t, err = recastTo(c, t, tensor.Float32); err != nil {
					return err
				}
			}
			w.tensor(t, most)
			w.add(between[i+1])
		}
		if w.err != nil {
			return w.err
		}
		c.set(0, textScalar(string(w.text)))
		return nil
	}, nil
}

// tensorText formats tensors as tf.print does, within the room for texts.
type tensorText struct {
	text []byte
	room textRoom
	err  error // the first error: nothing is written after it
}

func (w *tensorText) add(s string) {
	if w.err == nil {
		w.err = w.room.take(len(s))
	}
	if w.err == nil {
		w.text = append(w.text, s...)
	}
}

// tensor writes up to `most` elements at each end of each dimension, or all if most is negative.
func (w *tensorText) tensor(t *tensor.Tensor, most int) {
	if t == nil {
		w.add("?")
		return
	}
	if most < 0 {
		most = t.Len()
	}
	if most == 0 && len(t.Shape) == 0 {
		w.add("...")
		return
	}
	p := tensorPrinter{w, t, elementText(t), min(most, t.Len())}
	p.dimension(0, 0, t.Len())
}

// tensorPrinter writes a tensor.
type tensorPrinter struct {
	*tensorText
	t    *tensor.Tensor
	at   func(i int) string
	ends int // number of elements at each end
}

// dimension writes n elements, from `first` on, whose indices before dimension d are the same.
func (p tensorPrinter) dimension(d, first, n int) {
	if p.err != nil {
		return
	}
	if d == len(p.t.Shape) {
		p.add(p.at(first))
		return
	}
	size := p.t.Shape[d]
	each := n / max(size, 1)
	p.add("[")
	for i := range min(p.ends, size) {
		if i > 0 {
			p.space(d)
		}
		p.dimension(d+1, first+i*each, each)
	}
	if size > 2*p.ends {
		p.space(d)
		p.add("...")
	}
	for i := max(p.ends, size-p.ends); i < size; i++ {
		p.space(d)
		p.dimension(d+1, first+i*each, each)
	}
	p.add("]")
}

// space writes the separator of elements along dimension d.
func (p tensorPrinter) space(d int) {
	if d == len(p.t.Shape)-1 {
		p.add(" ")
		return
	}
	p.add(strings.Repeat("\n", len(p.t.Shape)-d-1) + strings.Repeat(" ", d+1))
}

// elementText returns the function that formats element i of a tensor.
func elementText(t *tensor.Tensor) func(i int) string {
	switch t.DType {
	case tensor.String:
		return func(i int) string { return quoted(t.Strings[i]) }
	case tensor.Bool, tensor.Uint8:
		return func(i int) string { return strconv.Itoa(int(t.Bytes[i])) }
	case tensor.Uint64:
		return func(i int) string { return strconv.FormatUint(cells[uint64](t)[i], 10) }
	case tensor.Float64:
		return func(i int) string { return shortFloat(tensor.Values[float64](t)[i], 64) }
	case tensor.Float32, tensor.Float16, tensor.BFloat16:
		return func(i int) string { return shortFloat(t.Float(i), 32) }
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint16, tensor.Uint32:
		return func(i int) string { return strconv.FormatInt(t.Int(i), 10) }
	}
	return func(int) string { return "?" }
}

// shortFloat formats a number with the digits that C guarantees for the type, or with enough to restore it.
func shortFloat(v float64, bits int) string {
	few, many := 6, 9
	if bits == 64 {
		few, many = 15, 17
	}
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	short := strconv.FormatFloat(v, 'g', few, bits)
	if back, err := strconv.ParseFloat(short, bits); err == nil && back == v {
		return short
	}
	return strconv.FormatFloat(v, 'g', many, bits)
}

// quoted returns a string in quotes, with C's escapes. Bytes beyond ASCII are not escaped.
func quoted(s []byte) string {
	out := append(make([]byte, 0, len(s)+2), '"')
	for _, b := range s {
		switch {
		case b == '\n':
			out = append(out, `\n`...)
		case b == '\r':
			out = append(out, `\r`...)
		case b == '\t':
			out = append(out, `\t`...)
		case b == '"' || b == '\'' || b == '\\':
			out = append(out, '\\', b)
		case b < ' ' || b == 0x7f:
			out = fmt.Appendf(out, `\%03o`, b)
		default:
			out = append(out, b)
		}
	}
	return string(append(out, '"'))
}
