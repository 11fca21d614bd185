package inputs

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

func frameOf(t *testing.T, values []int64, reuse func()) (*Frame, *Schema) {
	t.Helper()
	b := array.NewInt64Builder(memory.NewGoAllocator())
	b.AppendValues(values, nil)
	s, err := NewSchema(Column{Name: "x", DType: tensor.Int64})
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{}
	f.Reset(s.Arrow(), []arrow.Array{b.NewArray()}, int64(len(values)), reuse)
	return f, s
}

// TestFrameIsReused: a frame is reused once the last reference is gone, and not before.
func TestFrameIsReused(t *testing.T) {
	back := 0
	f, s := frameOf(t, []int64{3, 4}, func() { back++ })
	x, err := Tensors(f, s)
	if err != nil || tensor.Values[int64](x[0].Tensor)[1] != 4 {
		t.Fatalf("got %v, %v", x, err)
	}
	f.Retain()
	if f.Release(); back != 0 {
		t.Fatal("the frame was given back while somebody held it")
	}
	if f.Release(); back != 1 {
		t.Fatalf("the frame was given back %d times, expected once", back)
	}
}

// TestFrameWithColumnsKept: a caller that asks for columns may keep them.
func TestFrameWithColumnsKept(t *testing.T) {
	for name, ask := range map[string]func(f *Frame) arrow.Array{
		"column":  func(f *Frame) arrow.Array { f.Column(0).Retain(); return f.Column(0) },
		"columns": func(f *Frame) arrow.Array { f.Columns()[0].Retain(); return f.Columns()[0] },
		"slice":   func(f *Frame) arrow.Array { return f.NewSlice(0, 2).Column(0) },
		"set": func(f *Frame) arrow.Array {
			rec, err := f.SetColumn(0, f.Column(0))
			if err != nil {
				t.Fatal(err)
			}
			return rec.Column(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := frameOf(t, []int64{3, 4}, func() { t.Error("the frame was given back") })
			kept := ask(f)
			f.Release()
			if got := kept.(*array.Int64).Int64Values(); len(got) != 2 || got[1] != 4 {
				t.Errorf("the column that was kept is %v", got)
			}
			kept.Release()
		})
	}
}

// TestFrameIsARecord: a frame looks like a record of its columns.
func TestFrameIsARecord(t *testing.T) {
	f, s := frameOf(t, []int64{3, 4}, func() {})
	want := array.NewRecord(s.Arrow(), f.Columns(), 2)
	if !array.RecordEqual(f, want) || f.NumCols() != 1 || f.ColumnName(0) != "x" {
		t.Errorf("got %v, expected %v", f, want)
	}
	a, err := f.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := want.MarshalJSON(); err != nil || string(a) != string(b) {
		t.Errorf("got %s, expected %s, %v", a, b, err)
	}
}
