package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	t, _ := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	swapped, err := Transpose(t, 1, 0)
	fmt.Println(swapped.Shape, tensor.Values[float32](swapped), err)
	// Output: [3 2] [1 4 2 5 3 6] <nil>
}

func TestShapeOf(t *testing.T) {
	for _, c := range []struct {
		dims  []uint64
		limit int64
		ok    bool
	}{
		{nil, 4, true}, {nil, 3, false}, {[]uint64{2, 3}, 24, true}, {[]uint64{2, 3}, 23, false},
		{[]uint64{0, 5}, 0, true}, {[]uint64{0, math.MaxUint64}, 0, false}, {[]uint64{math.MaxUint64}, math.MaxInt64, false},
		{[]uint64{1 << 31, 1 << 31, 4}, math.MaxInt64, false}, {[]uint64{1 << 32, 1 << 32}, math.MaxInt64, false},
		{make([]uint64, 65), 0, false}, {[]uint64{1}, -1, false},
	} {
		shape, err := ShapeOf(c.dims, 4, c.limit)
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrFormat)) {
			t.Errorf("%v in %d bytes: %v, %v", c.dims, c.limit, shape, err)
		}
		if err == nil && len(shape) != len(c.dims) {
			t.Errorf("%v: got %v", c.dims, shape)
		}
	}
}

func TestReadFull(t *testing.T) {
	b := make([]byte, 4)
	if err := ReadFull(bytes.NewReader([]byte("abcd")), b, 0); err != nil || string(b) != "abcd" {
		t.Errorf("to the end: %q, %v", b, err)
	}
	if err := ReadFull(bytes.NewReader([]byte("abcd")), b, 1); !errors.Is(err, ErrFormat) {
		t.Errorf("beyond the end: %v", err)
	}
}

func TestSwap(t *testing.T) {
	b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	Swap(b, 4)
	if want := []byte{4, 3, 2, 1, 8, 7, 6, 5}; !slices.Equal(b, want) {
		t.Errorf("got %v, expected %v", b, want)
	}
	Swap(b, 1)
	if b[0] != 4 {
		t.Error("bytes have no order")
	}
}

func TestTransposeErrors(t *testing.T) {
	x := tensor.New(tensor.Float32, 2, 0)
	for _, perm := range [][]int{{0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 2}, nil} {
		if _, err := Transpose(x, perm...); err == nil {
			t.Errorf("%v is accepted for a matrix", perm)
		}
	}
	if y, err := Transpose(x, 1, 0); err != nil || !slices.Equal(y.Shape, []int{0, 2}) {
		t.Errorf("an empty matrix: %v, %v", y, err)
	}
	if _, err := Transpose(tensor.New(tensor.String, 1, 1), 1, 0); err == nil {
		t.Error("strings are accepted")
	}
}
