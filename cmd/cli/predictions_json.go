package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/tensor"
)

// jsonLines writes each row as one line: an object with nested lists. NaN and
// infinities, which JSON does not have, become null.
type jsonLines struct {
	out  *bufio.Writer
	line []byte
}

func newJSONLines(w io.Writer) flushingWriter { return &jsonLines{out: bufio.NewWriter(w)} }

func (w *jsonLines) Write(row []namedValue) error {
	b := append(w.line[:0], '{')
	for _, v := range row {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendText(b, v.name), ':')
		var err error
		if b, err = appendTensor(b, v.value, v.value.Shape, 0); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	w.line = append(b, '}', '\n')
	_, err := w.out.Write(w.line)
	return err
}

func (w *jsonLines) Close() error { return w.Flush() }

// Flush writes buffered data.
func (w *jsonLines) Flush() error { return w.out.Flush() }

// appendTensor appends the part of t with this shape that starts at element first.
func appendTensor(b []byte, t *tensor.Tensor, shape []int, first int) ([]byte, error) {
	return appendValues(b, t, shape, first, appendElement)
}

// appendValues is appendTensor with a function that appends an element.
func appendValues(b []byte, t *tensor.Tensor, shape []int, first int, element func([]byte, *tensor.Tensor, int) ([]byte, error)) ([]byte, error) {
	if len(shape) == 0 {
		return element(b, t, first)
	}
	size := 1
	for _, d := range shape[1:] {
		size *= d
	}
	b = append(b, '[')
	for i := range shape[0] {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValues(b, t, shape[1:], first+i*size, element); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendElement(b []byte, t *tensor.Tensor, i int) ([]byte, error) {
	switch t.DType {
	case tensor.Float32:
		return appendFloat(b, t.Float(i), 32), nil
	case tensor.Float64:
		return appendFloat(b, t.Float(i), 64), nil
	case tensor.Bool:
		return strconv.AppendBool(b, tensor.Values[bool](t)[i]), nil
	case tensor.Int64:
		return strconv.AppendInt(b, tensor.Values[int64](t)[i], 10), nil
	case tensor.String:
		return appendText(b, string(t.Strings[i])), nil
	}
	if t.DType.Float() || t.DType.Size() == 0 || t.DType.Size() > 4 {
		return nil, fmt.Errorf("no JSON form of type %v", t.DType)
	}
	return strconv.AppendInt(b, int64(t.Float(i)), 10), nil
}

func appendFloat(b []byte, x float64, bits int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, bits)
}

// appendText appends a quoted text without escaping < > and &, since this is not HTML.
func appendText(b []byte, text string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // encoding a string to a buffer does not fail
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
