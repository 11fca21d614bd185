package rest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/tensor"
)

// outputs are the tensors of a reply by alias, sorted.
type outputs struct {
	names   []string
	tensors []*tensor.Tensor
	account *budget.Account // pays for the reply
}

// writer returns a writer for rows that are written one by one, or all at once. A number takes less than 32 bytes, and
// the escapes of a string are the model's doing too.
func (o outputs) writer(out []byte, rows int) *writer {
	w := &writer{buf: out, account: o.account, fair: 4096}
	for i, t := range o.tensors {
		w.all += t.Len()
		w.fair += 32*t.Len() + min(rows, t.Len())*(len(o.names[i])+32)
		for _, s := range t.Strings {
			w.fair += 6 * len(s)
		}
	}
	return w
}

// appendPredictions appends the reply to "instances": the outputs of each row, an object if there are several.
func appendPredictions(out []byte, o outputs) ([]byte, error) {
	if len(o.names) == 0 {
		return out, invalid("Cannot convert empty tensor map to JSON")
	}
	batch := -1
	for i, t := range o.tensors {
		if len(t.Shape) == 0 {
			return out, invalid("Tensor name: %s has no shape information ", o.names[i])
		}
		if batch >= 0 && batch != t.Shape[0] {
			return out, invalid("Tensor name: %s has inconsistent batch size: %d expecting: %d", o.names[i], t.Shape[0], batch)
		}
		batch = t.Shape[0]
	}
	w := o.writer(out, batch)
	w.open('{')
	w.quoted([]byte("predictions"))
	w.open('[')
	values := make([]values, len(o.tensors))
	for i, t := range o.tensors {
		values[i] = valuesOf(t, o.names[i])
	}
	for range batch {
		if len(values) > 1 {
			w.open('{')
		}
		w.single = true
		for i := range values {
			if len(values) > 1 {
				w.quoted([]byte(o.names[i]))
			}
			if err := w.tensor(&values[i], 1); err != nil {
				return out, err
			}
		}
		w.single = false
		if len(values) > 1 {
			w.close('}')
		}
	}
	w.close(']')
	w.close('}')
	return w.buf, w.err
}

// appendOutputs appends the reply to "inputs": the only output, or an object of all outputs.
func appendOutputs(out []byte, o outputs) ([]byte, error) {
	if len(o.names) == 0 {
		return out, invalid("Cannot convert empty tensor map to JSON")
	}
	w := o.writer(out, 1)
	w.open('{')
	w.quoted([]byte("outputs"))
	if len(o.names) > 1 {
		w.open('{')
	}
	for i, name := range o.names {
		if len(o.names) > 1 {
			w.quoted([]byte(name))
		}
		v := valuesOf(o.tensors[i], name)
		if err := w.tensor(&v, 0); err != nil {
			return out, err
		}
	}
	if len(o.names) > 1 {
		w.close('}')
	}
	w.close('}')
	return w.buf, w.err
}

// values are a tensor's elements; the first next of them are written.
type values struct {
	t    *tensor.Tensor
	b64  bool
	next int
}

// valuesOf returns the values of t. Strings are bytes, written as base64, if the alias ends in "_bytes".
func valuesOf(t *tensor.Tensor, alias string) values {
	return values{t: t, b64: strings.HasSuffix(alias, "_bytes")}
}

// tensor writes the dimensions of v from dim on.
func (w *writer) tensor(v *values, dim int) error {
	shape := v.t.Shape
	if dim >= len(shape) {
		return w.elements(v, 1)
	}
	w.open('[')
	if dim == len(shape)-1 {
		if err := w.elements(v, shape[dim]); err != nil {
			return err
		}
	} else {
		for range shape[dim] {
			if err := w.tensor(v, dim+1); err != nil {
				return err
			}
		}
	}
	w.close(']')
	return nil
}

// elements writes the next count elements.
func (w *writer) elements(v *values, count int) error {
	for count > 0 && w.err == nil {
		n := min(count, 1<<12)
		if err := w.someElements(v, n); err != nil {
			return err
		}
		w.done += n
		count -= n
	}
	return w.err
}

func (w *writer) someElements(v *values, count int) error {
	from, to := v.next, v.next+count
	v.next = to
	switch v.t.DType {
	case tensor.Float32:
		for _, x := range tensor.Values[float32](v.t)[from:to] {
			w.before()
			w.buf = appendFloat(w.buf, float64(x), 32)
		}
	case tensor.Float64:
		for _, x := range tensor.Values[float64](v.t)[from:to] {
			w.before()
			w.buf = appendFloat(w.buf, x, 64)
		}
	case tensor.Float16, tensor.BFloat16:
		for i := from; i < to; i++ {
			w.before()
			w.buf = appendFloat(w.buf, v.t.Float(i), 32)
		}
	case tensor.Int32:
		appendInts(w, tensor.Values[int32](v.t)[from:to])
	case tensor.Int16:
		appendInts(w, tensor.Values[int16](v.t)[from:to])
	case tensor.Int8:
		appendInts(w, tensor.Values[int8](v.t)[from:to])
	case tensor.Uint8:
		appendInts(w, tensor.Values[uint8](v.t)[from:to])
	case tensor.Int64:
		appendInts(w, tensor.Values[int64](v.t)[from:to])
	case tensor.Uint32:
		appendInts(w, tensor.Values[uint32](v.t)[from:to])
	case tensor.Uint64:
		for _, x := range tensor.Values[uint64](v.t)[from:to] {
			w.before()
			w.buf = strconv.AppendUint(w.buf, x, 10)
		}
	case tensor.Bool:
		for _, x := range tensor.Values[bool](v.t)[from:to] {
			w.before()
			w.buf = strconv.AppendBool(w.buf, x)
		}
	case tensor.String:
		for _, x := range v.t.Strings[from:to] {
			w.bytes(x, v.b64)
		}
	default:
		return invalid("Failed to write JSON value for tensor type: %s", typeName(v.t.DType))
	}
	return nil
}

func appendInts[T int8 | int16 | int32 | int64 | uint8 | uint32](w *writer, xs []T) {
	for _, x := range xs {
		w.before()
		w.buf = strconv.AppendInt(w.buf, int64(x), 10)
	}
}

// bytes writes a string, or its bytes as {"b64": "..."}.
func (w *writer) bytes(s []byte, b64 bool) {
	if !b64 {
		w.quoted(s)
		return
	}
	w.open('{')
	w.quoted([]byte("b64"))
	w.before()
	w.room(base64.StdEncoding.EncodedLen(len(s)) + 2)
	w.buf = append(w.buf, '"')
	w.buf = base64.StdEncoding.AppendEncode(w.buf, s)
	w.buf = append(w.buf, '"')
	w.close('}')
}

// appendClassification appends the reply to classify: a list of [label, score] for each example.
func appendClassification(out []byte, r *inference.Result, a *budget.Account) ([]byte, error) {
	if r.Examples == 0 {
		return out, invalid("Cannot convert empty ClassificationResults to JSON")
	}
	w := &writer{buf: out, account: a, all: r.Examples}
	w.open('{')
	w.quoted([]byte("results"))
	w.open('[')
	w.single = true
	for i := range r.Examples {
		w.open('[')
		for class := i * r.Width; class < (i+1)*r.Width; class++ {
			w.open('[')
			w.quoted([]byte(r.Label(class)))
			w.before()
			w.buf = appendFloat(w.buf, float64(r.Score(class)), 32)
			w.close(']')
		}
		w.close(']')
		if w.done++; w.err != nil {
			return out, w.err
		}
	}
	w.single = false
	w.close(']')
	w.close('}')
	return w.buf, w.err
}

// appendRegression appends the reply to regress: a number for each example.
func appendRegression(out []byte, r *inference.Result, a *budget.Account) ([]byte, error) {
	if r.Examples == 0 {
		return out, invalid("Cannot convert empty RegressionResults to JSON")
	}
	w := &writer{buf: out, account: a, all: r.Examples}
	w.open('{')
	w.quoted([]byte("results"))
	w.single = true
	w.open('[')
	for i := range r.Examples {
		w.before()
		w.buf = appendFloat(w.buf, float64(r.Score(i)), 32)
		w.done++
	}
	w.close(']')
	w.close('}')
	return w.buf, w.err
}

// appendError appends the reply of a refused request.
func appendError(out []byte, text string) []byte {
	w := &writer{buf: out}
	w.open('{')
	w.quoted([]byte("error"))
	w.quoted([]byte(text))
	w.close('}')
	return escapeHidden(w.buf)
}

// escapeHidden replaces characters that JSON may contain but that a terminal obeys, such as the one-byte form of an
// escape sequence, since errors quote names of the request.
func escapeHidden(b []byte) []byte {
	shown := func(r rune) bool { return r == '\n' || r != utf8.RuneError && strconv.IsGraphic(r) }
	if !bytes.ContainsFunc(b, func(r rune) bool { return !shown(r) }) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if shown(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, half := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, "\\u%04x", half)
		}
	}
	return out
}
