package tensor

import (
	"strings"
	"testing"
)

func TestDTypeNames(t *testing.T) {
	seen := map[string]bool{}
	for d := range dtypes {
		name := d.String()
		if seen[name] {
			t.Errorf("two types named %s", name)
		}
		seen[name] = true
		got, err := ParseDType(name)
		if d == Invalid {
			if err == nil {
				t.Error("invalid parsed as a type")
			}
			continue
		}
		if err != nil || got != d {
			t.Errorf("ParseDType(%q): %v, %v; want %v", name, got, err, d)
		}
	}
	if got := DType(99).String(); got != "dtype(99)" {
		t.Errorf("unknown type prints as %s", got)
	}
	if _, err := ParseDType("float"); err == nil || !strings.Contains(err.Error(), "float32") {
		t.Errorf("got %v, want an error that names the known types", err)
	}
	if !BFloat16.Float() || Int32.Float() || Float64.Size() != 8 || String.Size() != 0 ||
		!BFloat16.Half() || !Float16.Half() || Float32.Half() || Int16.Half() {
		t.Error("properties of the types are wrong")
	}
}

func checkElement[T Element](t *testing.T, v T, d DType) {
	t.Helper()
	s := Scalar(v)
	if s.DType != d || len(s.Shape) != 0 || len(s.Bytes) != d.Size() || Values[T](s)[0] != v {
		t.Errorf("Scalar(%v): %v%v, want %v", v, s.DType, s.Shape, d)
	}
}

func TestTensors(t *testing.T) {
	checkElement(t, float32(1.5), Float32)
	checkElement(t, 1.5, Float64)
	checkElement(t, int8(-1), Int8)
	checkElement(t, int16(-1), Int16)
	checkElement(t, int32(-1), Int32)
	checkElement(t, int64(-1), Int64)
	checkElement(t, uint8(1), Uint8)
	checkElement(t, uint16(1), Uint16)
	checkElement(t, uint32(1), Uint32)
	checkElement(t, uint64(1), Uint64)
	checkElement(t, true, Bool)

	data := []int32{1, 2, 3, 4, 5, 6}
	a, err := FromSlice(data, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	c := a.Clone()
	data[0] = 9
	if Values[int32](a)[0] != 9 || Values[int32](c)[0] != 1 {
		t.Error("FromSlice must alias, Clone must not")
	}
	if Values[int64](a) != nil {
		t.Error("Of another type must be nil")
	}
	if _, err := FromSlice(data, 2, 2); err == nil || !strings.Contains(err.Error(), "holds 4 elements, got 6") {
		t.Errorf("wrong shape: %v", err)
	}
	if _, err := FromStrings([][]byte{nil}, 2); err == nil {
		t.Error("wrong shape of strings: expected an error")
	}
	s, err := FromStrings([][]byte{[]byte("a"), []byte("b")}, 2)
	if err != nil || s.Len() != 2 || string(s.Clone().Strings[1]) != "b" {
		t.Errorf("strings: %v %v", s, err)
	}
	for _, d := range []DType{Float64, Float32, Uint8} {
		if n := New(d, 3); len(n.Bytes) != 3*d.Size() || n.Len() != 3 {
			t.Errorf("New(%v): %d bytes", d, len(n.Bytes))
		}
	}
}
