package initializers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestRowsOfTheWhole compares rows made separately with the same rows of a whole
// tensor, bit for bit.
func TestRowsOfTheWhole(t *testing.T) {
	for _, name := range Names() {
		i, err := New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
			for _, cols := range []int{1, 3, 8} {
				whole := tensor.New(d, 41, cols)
				if err := i.Init(whole, 7); err != nil {
					t.Fatal(err)
				}
				for lo := 0; lo < 41; lo += 5 {
					for _, n := range []int{0, 1, 41 - lo} {
						part := tensor.New(d, n, cols)
						if err := InitRows(i, part, Rows{Full: []int{41, cols}, First: lo}, 7); err != nil {
							t.Fatal(err)
						}
						row := cols * d.Size()
						if !bytes.Equal(part.Bytes, whole.Bytes[lo*row:(lo+n)*row]) {
							t.Errorf("%s %v: rows %d to %d of %d columns differ", name, d, lo, lo+n, cols)
						}
					}
				}
			}
		}
	}
}

// TestFarRows draws rows beyond the range of a 32-bit counter.
func TestFarRows(t *testing.T) {
	a, b := tensor.New(tensor.Float32, 2, 16), tensor.New(tensor.Float32, 1, 16)
	full := []int{1 << 40, 16}
	for _, i := range []Initializer{TruncatedNormal{0, 1}, RandomUniform{0, 1}} {
		if err := InitRows(i, a, Rows{full, 1<<40 - 2}, 1); err != nil {
			t.Fatal(err)
		}
		if err := InitRows(i, b, Rows{full, 1<<40 - 1}, 1); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes[64:], b.Bytes) || bytes.Equal(a.Bytes[:64], b.Bytes) {
			t.Errorf("%T: the last row differs, or equals the one before", i)
		}
	}
}

func TestRowsRefused(t *testing.T) {
	x := tensor.New(tensor.Float32, 2, 3)
	for want, rows := range map[string]Rows{
		"same rank":    {Full: []int{6}},
		"rows of it":   {Full: []int{4, 3}, First: 3},
		"of a tensor ": {Full: []int{4, 2}},
		"from -1 on":   {Full: []int{4, 3}, First: -1},
	} {
		if err := InitRows(Zeros(), x, rows, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", rows, err, want)
		}
	}
	if err := InitRows(Orthogonal{1}, x, Rows{Full: []int{1 << 30, 3}}, 0); err == nil || !strings.Contains(err.Error(), "another initializer") {
		t.Errorf("got %v", err)
	}
	s := tensor.New(tensor.Float32)
	if err := InitRows(Ones(), s, Rows{}, 0); err != nil || s.Float(0) != 1 {
		t.Errorf("scalar: %v, %v", s.Float(0), err)
	}
}

func ExampleInitRows() {
	whole, rows := tensor.New(tensor.Float32, 1000, 2), tensor.New(tensor.Float32, 1, 2)
	i := GlorotUniform()
	if err := i.Init(whole, 1); err != nil {
		fmt.Println(err)
	}
	if err := InitRows(i, rows, Rows{Full: whole.Shape, First: 500}, 1); err != nil {
		fmt.Println(err)
	}
	fmt.Println(bytes.Equal(rows.Bytes, whole.Row(500).Bytes))
	// Output: true
}
