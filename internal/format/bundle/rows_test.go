package bundle

import (
	"bytes"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// TestRows compares rows with the rows of whole tensors: in one piece, partitioned along
// one dimension and along both, and with empty rows.
func TestRows(t *testing.T) {
	m := atomicfile.NewMem("/d")
	w, err := NewWriter(m, "/d/x", 2)
	if err != nil {
		t.Fatal(err)
	}
	whole := tensor.New(tensor.Float32, 7, 4)
	for i := range tensor.Values[float32](whole) {
		tensor.Values[float32](whole)[i] = float32(i)
	}
	add := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	cut := func(r0, r1, c0, c1 int) *tensor.Tensor {
		p := tensor.New(tensor.Float32, r1-r0, c1-c0)
		for r := r0; r < r1; r++ {
			copy(p.Bytes[(r-r0)*(c1-c0)*4:], whole.Bytes[(r*4+c0)*4:(r*4+c1)*4])
		}
		return p
	}
	add(w.Add("one", whole))
	add(w.Add("empty", tensor.New(tensor.Int64, 7, 0)))
	add(w.Add("scalar", tensor.Scalar(int64(1))))
	add(w.Add("text", tensor.New(tensor.String, 2)))
	for _, r := range [][2]int{{0, 3}, {3, 4}, {4, 7}} {
		add(w.AddSlice("rows", []int{7, 4}, Slice{{r[0], r[1] - r[0]}, {0, -1}}, cut(r[0], r[1], 0, 4)))
	}
	add(w.AddSlice("both", []int{7, 4}, Slice{{0, -1}, {0, 1}}, cut(0, 7, 0, 1)))
	add(w.AddSlice("both", []int{7, 4}, Slice{{0, 2}, {1, 3}}, cut(0, 2, 1, 4)))
	add(w.AddSlice("both", []int{7, 4}, Slice{{2, 5}, {1, 3}}, cut(2, 7, 1, 4)))
	add(w.Finish())
	r, err := Open(m, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"one", "rows", "both"} {
		for lo := 0; lo <= 7; lo++ {
			for hi := lo; hi <= 7; hi++ {
				got, err := r.Rows(name, lo, hi)
				if err != nil || len(got.Shape) != 2 || got.Shape[0] != hi-lo || !bytes.Equal(got.Bytes, whole.Bytes[lo*16:hi*16]) {
					t.Errorf("%s %d to %d: %v, %v", name, lo, hi, got, err)
				}
			}
		}
	}
	if got, err := r.Rows("empty", 2, 5); err != nil || got.Shape[0] != 3 {
		t.Errorf("empty: %v, %v", got, err)
	}
	if _, err := r.Rows("none", 0, 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	if _, err := r.Rows("text", 0, 1); !errors.Is(err, ErrUnsupported) {
		t.Errorf("text: %v", err)
	}
	for _, c := range [][2]int{{-1, 1}, {3, 2}, {0, 8}} {
		if _, err := r.Rows("rows", c[0], c[1]); err == nil {
			t.Errorf("rows %v: expected an error", c)
		}
	}
	if _, err := r.Rows("scalar", 0, 1); err == nil {
		t.Error("rows of a scalar: expected an error")
	}
}
