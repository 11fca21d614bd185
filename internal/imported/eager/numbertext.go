package eager

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// numberTextOps convert between numbers and strings.
var numberTextOps = map[*ops.Def]maker{
	ops.AsString:       asString,
	ops.StringToNumber: stringToNumber,
}

// format says how AsString writes numbers: as C's printf with the given flag, width and precision.
type format struct {
	fill      string
	width     int
	precision int  // -1: printf's default
	verb      byte // f, e or g
}

func asString(s *site) (kernel, error) {
	f := format{fill: s.str("fill", ""), width: s.node.Int("width", -1), precision: s.node.Int("precision", -1), verb: 'f'}
	if s.boolean("scientific", false) {
		f.verb = 'e'
	}
	if s.boolean("shortest", false) {
		if f.verb == 'e' {
			return nil, errors.New("cannot select both scientific and shortest notation")
		}
		f.verb = 'g'
	}
	if f.width = max(f.width, -1); f.width > 1<<16 || f.precision > 1<<10 || len(f.fill) > 1 || f.fill != "" && !strings.Contains("0+- ", f.fill) {
		return nil, fmt.Errorf("fill %q, width %d and precision %d %w", f.fill, f.width, f.precision, ErrUnsupported)
	}
	return func(c call) error {
		t := c.t(0)
		element, err := f.of(t)
		if err != nil {
			return err
		}
		out, err := c.output(0, tensor.String, t.Shape...)
		if err != nil {
			return err
		}
		room := c.textRoom()
		for i := range out.Strings {
			s := element(i)
			if err := room.take(len(s)); err != nil {
				return err
			}
			out.Strings[i] = s
		}
		return nil
	}, nil
}

// of returns a function that writes element i of t.
func (f format) of(t *tensor.Tensor) (func(i int) []byte, error) {
	switch t.DType {
	case tensor.String:
		return func(i int) []byte { return t.Strings[i] }, nil
	case tensor.Bool:
		return func(i int) []byte { return strconv.AppendBool(nil, tensor.Values[bool](t)[i]) }, nil // of any width
	case tensor.Float32, tensor.Float64:
		return func(i int) []byte { return f.float(t.Float(i)) }, nil
	case tensor.Complex64:
		return func(i int) []byte { return f.complex(complex128(tensor.Values[complex64](t)[i])) }, nil
	case tensor.Complex128:
		return func(i int) []byte { return f.complex(tensor.Values[complex128](t)[i]) }, nil
	case tensor.Uint64:
		return func(i int) []byte { return f.signed(strconv.FormatUint(tensor.Values[uint64](t)[i], 10)) }, nil
	case tensor.Int64:
		return func(i int) []byte { return f.signed(strconv.FormatInt(tensor.Values[int64](t)[i], 10)) }, nil
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Uint8, tensor.Uint16, tensor.Uint32:
		return func(i int) []byte { return f.signed(strconv.FormatInt(int64(t.Float(i)), 10)) }, nil
	}
	return nil, fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
}

func (f format) float(v float64) []byte {
	switch {
	case v != v:
		s := "nan"
		if math.Signbit(v) {
			s = "-nan"
		}
		return f.infinite(s)
	case math.IsInf(v, 1):
		return f.infinite("inf")
	case math.IsInf(v, -1):
		return f.infinite("-inf")
	}
	p := f.precision
	if p < 0 {
		p = 6
	}
	if f.verb == 'g' && p == 0 {
		p = 1
	}
	return f.signed(strconv.FormatFloat(v, f.verb, p, 64))
}

// complex writes a pair, whose parts each have the width.
func (f format) complex(v complex128) []byte {
	return fmt.Appendf(nil, "(%s,%s)", f.float(real(v)), f.float(imag(v)))
}

// infinite is signed without leading zeros.
func (f format) infinite(s string) []byte {
	if f.fill == "0" {
		f.fill = ""
	}
	return f.signed(s)
}

func (f format) signed(s string) []byte { return f.padded(s, true) }

// padded applies flag and width; only numbers get signs and zeros.
func (f format) padded(s string, number bool) []byte {
	if number && s[0] != '-' && (f.fill == "+" || f.fill == " ") {
		s = f.fill + s
	}
	pad := f.width - len(s)
	switch {
	case pad <= 0:
	case f.fill == "-":
		s += strings.Repeat(" ", pad)
	case f.fill == "0" && number:
		sign := ""
		if s[0] == '-' {
			sign, s = "-", s[1:]
		}
		s = sign + strings.Repeat("0", pad) + s
	default:
		s = strings.Repeat(" ", pad) + s
	}
	return []byte(s)
}

func stringToNumber(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Float32)
	return func(c call) error {
		in := c.t(0)
		if err := want("string_tensor", in, tensor.String); err != nil {
			return err
		}
		out, err := c.output(0, d, in.Shape...)
		if err != nil {
			return err
		}
		for i, s := range in.Strings {
			if err := parseNumber(out, i, s); err != nil {
				return fmt.Errorf("StringToNumberOp could not correctly convert string: %s", clip(s))
			}
		}
		return nil
	}, nil
}

// parseNumber sets element i of t to the number in s, ignoring white space around it.
func parseNumber(t *tensor.Tensor, i int, s []byte) error {
	text := string(stripSpace(s))
	switch t.DType {
	case tensor.Float32:
		v, err := parseFloat(string(s), 32)
		tensor.Values[float32](t)[i] = float32(v)
		return err
	case tensor.Float64:
		v, err := parseFloat(string(s), 64)
		tensor.Values[float64](t)[i] = v
		return err
	case tensor.Int32:
		v, err := parseInt(text, 32)
		tensor.Values[int32](t)[i] = int32(v)
		return err
	case tensor.Int64:
		v, err := parseInt(text, 64)
		tensor.Values[int64](t)[i] = v
		return err
	}
	return fmt.Errorf("type %v %w", t.DType, ErrUnsupported)
}

// parseInt does not accept a plus sign.
func parseInt(s string, bits int) (int64, error) {
	if strings.HasPrefix(s, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, bits)
}

// parseFloat returns out-of-range numbers as infinite or zero. It accepts nan and inf in any case and with any sign, and hexadecimal
// integers, but not "infinity". White space alone is 0.
func parseFloat(text string, bits int) (float64, error) {
	s := string(stripSpace([]byte(text)))
	if s == "" && text != "" {
		return 0, nil
	}
	digits := strings.TrimLeft(s, "+-")
	switch lower := strings.ToLower(digits); {
	case len(s)-len(digits) > 1 || lower == "infinity" || strings.Contains(s, "_"):
		return 0, strconv.ErrSyntax
	case lower == "nan":
		s = lower
	case strings.HasPrefix(lower, "0x"):
		if strings.ContainsAny(lower, ".p") {
			return 0, strconv.ErrSyntax
		}
		s += "p0"
	}
	v, err := strconv.ParseFloat(s, bits)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return v, err
}
