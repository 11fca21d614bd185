package eager_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// decoded runs DecodeRaw.
func decoded(t *testing.T, d tensor.DType, limit int64, texts ...string) (*tensor.Tensor, error) {
	t.Helper()
	var all [][]byte
	for _, s := range texts {
		all = append(all, []byte(s))
	}
	in, err := tensor.FromStrings(all, len(all))
	if err != nil {
		t.Fatal(err)
	}
	n := &graph.Node{Name: "n", Op: "DecodeRaw", Attrs: graph.Attrs{"out_type": d, "little_endian": true}, Outputs: make([]graph.Type, 1)}
	out, err := eager.Run(t.Context(), n, []eager.Value{{T: in}}, &eager.Env{Limit: limit})
	if err != nil {
		return nil, err
	}
	return out[0].T, nil
}

// TestBooleansOfBytes: whatever bytes a request has, a boolean is 0 or 1.
func TestBooleansOfBytes(t *testing.T) {
	y, err := decoded(t, tensor.Bool, 0, "\x00\x01\x02\xff")
	if err != nil || !bytes.Equal(y.Bytes, []byte{0, 1, 1, 1}) {
		t.Errorf("got %v, %v", y, err)
	}
	odd := &tensor.Tensor{DType: tensor.Uint8, Shape: []int{2}, Bytes: []byte{2, 255}}
	n := &graph.Node{Name: "n", Op: "Bitcast", Attrs: graph.Attrs{"type": tensor.Bool}, Outputs: make([]graph.Type, 1)}
	if _, err := eager.Run(t.Context(), n, []eager.Value{{T: odd}}, nil); !errors.Is(err, eager.ErrUnsupported) {
		t.Errorf("bytes become booleans: %v", err)
	}
}

// TestDecodeRawOfOneLongString: no memory is allocated for strings that do not exist.
func TestDecodeRawOfOneLongString(t *testing.T) {
	_, err := decoded(t, tensor.Uint8, 1000, string(make([]byte, 600)), "", "")
	if err == nil || errors.Is(err, eager.ErrLimit) {
		t.Errorf("got %v, expected that they are not of one size", err)
	}
}
