package rest

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawTensor draws a tensor of any type that JSON can represent; only the last dimension may be empty.
func drawTensor(t *rapid.T) *tensor.Tensor {
	d := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8,
		tensor.Uint32, tensor.Uint64, tensor.Bool, tensor.String}).Draw(t, "type")
	shape := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "shape")
	if len(shape) > 1 && rapid.Bool().Draw(t, "empty") {
		shape[len(shape)-1] = 0
	}
	x := tensor.New(d, shape...)
	for i := range x.Strings {
		x.Strings[i] = rapid.SliceOf(rapid.Byte()).Draw(t, "string")
	}
	for i := range x.Bytes {
		x.Bytes[i] = rapid.Byte().Draw(t, "byte")
		if d == tensor.Bool {
			x.Bytes[i] &= 1
		}
	}
	for i, v := range tensor.Values[float32](x) {
		if v != v {
			tensor.Values[float32](x)[i] = float32(math.NaN()) // one NaN of many
		}
	}
	for i, v := range tensor.Values[float64](x) {
		if v != v {
			tensor.Values[float64](x)[i] = math.NaN()
		}
	}
	return x
}

// equal compares tensors bit by bit.
func equal(a, b *tensor.Tensor) string {
	if a.DType != tensor.String {
		if cmp.Equal(a.Shape, b.Shape) && bytes.Equal(a.Bytes, b.Bytes) && a.DType == b.DType {
			return ""
		}
	}
	for _, t := range []*tensor.Tensor{a, b} {
		for i, s := range t.Strings {
			t.Strings[i] = append([]byte{}, s...)
		}
	}
	return cmp.Diff(a, b)
}

// decode reads a body for one input x.
func decode(text []byte, d tensor.DType) (*tensor.Tensor, error) {
	q, err := readPredict(new(document), text)
	if err != nil {
		return nil, err
	}
	in, err := q.tensors(map[string]tensor.DType{"x": d})
	return in["x"], err
}

func TestRepliesReadAsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawTensor(t)
		alias := rapid.SampledFrom([]string{"x", "x_bytes"}).Draw(t, "alias")
		o := outputs{names: []string{alias}, tensors: []*tensor.Tensor{x}}
		rows, err := appendPredictions(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := appendOutputs(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			strings.Replace(string(rows), `"predictions"`, `"instances"`, 1),
			strings.Replace(string(columns), `"outputs"`, `"inputs"`, 1),
		} {
			y, err := decode([]byte(text), x.DType)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if d := equal(x, y); d != "" {
				t.Fatalf("%s\n%s", d, text)
			}
		}
	})
}

func TestSeveralTensorsReadAsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawTensor(t), drawTensor(t)
		n := min(x.Shape[0], y.Shape[0])
		for _, v := range []*tensor.Tensor{x, y} {
			k := v.Len() / v.Shape[0] * n
			v.Shape[0] = n
			if v.DType == tensor.String {
				v.Strings = v.Strings[:k]
			} else {
				v.Bytes = v.Bytes[:k*v.DType.Size()]
			}
		}
		text, err := appendPredictions(nil, outputs{names: []string{"x", "y"}, tensors: []*tensor.Tensor{x, y}})
		if err != nil {
			t.Fatal(err)
		}
		q, err := readPredict(new(document), []byte(strings.Replace(string(text), `"predictions"`, `"instances"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		in, err := q.tensors(map[string]tensor.DType{"x": x.DType, "y": y.DType})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := equal(x, in["x"]) + equal(y, in["y"]); d != "" {
			t.Fatalf("%s\n%s", d, text)
		}
	})
}

// drawJSON draws a value for encoding/json.
func drawJSON(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "string")
	case 3:
		return rapid.Float64().Draw(t, "number")
	case 4:
		return rapid.Int64().Draw(t, "integer")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 4-min(4, depth)).Draw(t, "length") {
			list = append(list, drawJSON(t, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 4-min(4, depth)).Draw(t, "members") {
		object[rapid.String().Draw(t, "name")] = drawJSON(t, depth+1)
	}
	return object
}

// value reads a document as encoding/json does.
func value(c *cursor) any {
	switch c.kind() {
	case "Object":
		out := map[string]any{}
		count := c.count()
		c.enter()
		for range count {
			name := string(c.name())
			out[name] = value(c)
		}
		c.separator(c.p + 1)
		return out
	case "Array":
		out := []any{}
		count := c.count()
		c.enter()
		for range count {
			out = append(out, value(c))
		}
		c.separator(c.p + 1)
		return out
	}
	text, kind := c.text(), c.kind()
	defer c.skip()
	switch kind {
	case "String":
		return string(unquote(text))
	case "Number":
		d, end, _ := readDecimal(c.d.b, c.p)
		f := d.float64(c.d.b[c.p:end])
		if f == 0 {
			return 0.0 // the sign of zero is tested elsewhere
		}
		return f
	case "Null":
		return nil
	}
	return kind == "True"
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetIndent(rapid.SampledFrom([]string{"", " ", "\t\r"}).Draw(t, "prefix"), rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		e.SetEscapeHTML(rapid.Bool().Draw(t, "escape"))
		if err := e.Encode(map[string]any{"v": drawJSON(t, 0)}); err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(text.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		var d document
		if err := d.parse(text.Bytes()); err != nil {
			t.Fatal(err)
		}
		c := d.cursor()
		if diff := cmp.Diff(want, value(&c)); diff != "" {
			t.Fatalf("%s\n%s", diff, text.String())
		}
		// Skipping the whole value ends where reading it ends.
		whole := d.cursor()
		if end := whole.end(); end != c.p && strings.TrimSpace(string(d.b[end:c.p])) != "" {
			t.Fatalf("ends at %d and at %d: %s", end, c.p, text.String())
		}
	})
}

func TestDeepNesting(t *testing.T) {
	deep := strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)
	for _, c := range []struct{ text, want string }{
		{`{"instances":[1], "nested":` + deep + `}`, ""},
		{`{"signature_name":` + deep + `}`, "'signature_name' key must be a string value."},
		{`{"instances":` + deep + `}`, "nested deeper than 254"},
		{`{"inputs":` + deep + `}`, "nested deeper than 254"},
		{`{"inputs":` + strings.Repeat("[", 500_000), "Invalid value. at offset: 500010"},
		{`{"inputs":{"x":` + strings.Repeat(`{"a":`, 500_000) + "1" + strings.Repeat("}", 500_001) + "}", "is not of expected type"},
		{strings.Repeat(`{"a":[`, 300_000), "Invalid value."},
		{`{"inputs":` + strings.Repeat("[", deepest), "JSON Parse error: Lists and objects are nested deeper than 1048576 levels. at offset: 1048585"},
	} {
		_, err := decode([]byte(c.text), tensor.Float32)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.30s: %.300v, expected %q", c.text, err, c.want)
		}
	}
}
