package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// instances is a body with that many rows of random floats of that shape, printed as Python prints float32 (9
// digits) or float64.
func instances(bits, rows int, shape ...int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	out := []byte(`{"signature_name": "serving_default", "instances": [`)
	var nest func(shape []int)
	nest = func(shape []int) {
		if len(shape) == 0 {
			out = strconv.AppendFloat(out, float64(float32(rng.Float64())), 'g', -1, bits)
			return
		}
		out = append(out, '[')
		for i := range shape[0] {
			if i > 0 {
				out = append(out, ", "...)
			}
			nest(shape[1:])
		}
		out = append(out, ']')
	}
	for i := range rows {
		if i > 0 {
			out = append(out, ", "...)
		}
		nest(shape)
	}
	return append(out, "]}"...)
}

func decodeFloats(d *document, body []byte) (map[string]*tensor.Tensor, error) {
	q, err := readPredict(d, body)
	if err != nil {
		return nil, err
	}
	return q.tensors(map[string]tensor.DType{"x": tensor.Float32})
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		rows, bits int
		shape      []int
	}{{128, 32, []int{784}}, {128, 64, []int{784}}, {32, 32, []int{224, 224, 3}}} {
		body := instances(c.bits, c.rows, c.shape...)
		body = append(make([]byte, 0, len(body)+padding), body...)
		name := fmt.Sprintf("%dx%v/float%d", c.rows, c.shape, c.bits)
		b.Run("scan/"+name, func(b *testing.B) {
			var d document
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := d.parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("rest/"+name, func(b *testing.B) {
			var d document
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := decodeFloats(&d, body); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encoding_json/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				var v struct {
					Instances json.RawMessage
				}
				if err := json.Unmarshal(body, &v); err != nil {
					b.Fatal(err)
				}
				var err error
				if len(c.shape) == 1 {
					var x [][]float32
					err = json.Unmarshal(v.Instances, &x)
				} else {
					var x [][][][]float32
					err = json.Unmarshal(v.Instances, &x)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeOthers reads pixels as integers, and images as base64.
func BenchmarkDecodeOthers(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	pixels := []byte(`{"instances":[`)
	for i := range 128 {
		if i > 0 {
			pixels = append(pixels, ',')
		}
		pixels = append(pixels, '[')
		for range 783 {
			pixels = append(strconv.AppendInt(pixels, max(0, rng.Int64N(512)-256), 10), ", "...)
		}
		pixels = append(pixels, "0]"...)
	}
	pixels = append(pixels, "]}"...)
	picture := make([]byte, 1<<20)
	for i := range picture {
		picture[i] = byte(rng.Uint32())
	}
	text, _ := appendOutputs(nil, outputs{names: []string{"x_bytes"}, tensors: []*tensor.Tensor{{DType: tensor.String, Shape: []int{1}, Strings: [][]byte{picture}}}})
	pictures := bytes.Replace(text, []byte("outputs"), []byte("inputs"), 1)
	for name, c := range map[string]struct {
		body []byte
		d    tensor.DType
	}{"pixels": {pixels, tensor.Int32}, "base64": {pictures, tensor.String}} {
		body := append(make([]byte, 0, len(c.body)+padding), c.body...)
		b.Run(name, func(b *testing.B) {
			var d document
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				q, err := readPredict(&d, body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := q.tensors(map[string]tensor.DType{"x": c.d}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	t := tensor.New(tensor.Float32, 128, 784)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range tensor.Values[float32](t) {
		tensor.Values[float32](t)[i] = rng.Float32()
	}
	var out []byte
	for b.Loop() {
		out, _ = appendPredictions(out[:0], outputs{names: []string{"y"}, tensors: []*tensor.Tensor{t}})
	}
	b.SetBytes(int64(len(out)))
}

// BenchmarkHandler is a whole request, without the network: [128,784] in, and as many out.
func BenchmarkHandler(b *testing.B) {
	m := models()
	h := New(Options{Service: service(m), Catalog: catalog{m}})
	body := instances(32, 128, 784)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", predictURL, bytes.NewReader(body)))
		if w.Code != 200 {
			b.Fatal(w.Body.String())
		}
	}
}
