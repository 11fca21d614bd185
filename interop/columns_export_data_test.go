package interop_test

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// exportDefault is the default of feature y, which some examples leave out.
const exportDefault = 2.5

// exportFeature has the values of a feature in all rows, all of one type.
type exportFeature struct {
	name    string
	width   int // 0: ragged
	scalar  bool
	strings [][][]byte
	ints    [][]int64
	floats  [][]float32
}

func (f exportFeature) rows() int { return max(len(f.strings), len(f.ints), len(f.floats)) }

func (f exportFeature) size(row int) int {
	switch {
	case f.strings != nil:
		return len(f.strings[row])
	case f.ints != nil:
		return len(f.ints[row])
	}
	return len(f.floats[row])
}

// drawFeatures makes random rows: w are words, n integers, i levels, v weights of w, s steps, x and y numbers.
func drawFeatures(rows int, c columnsExport) []exportFeature {
	d := exportDraw{r: rand.New(rand.NewPCG(5, 6)), c: c}
	var out []exportFeature
	for _, name := range []string{"w0", "w1", "w2", "w3", "w4", "w5", "n0", "n1", "n2", "n3", "n4", "i0", "i1", "s0", "s1", "v0", "v1", "x", "y"} {
		f := exportFeature{name: name, width: c.width(name), scalar: !c.ragged && scalars[name]}
		switch name[0] {
		case 'w':
			f.strings = make([][][]byte, rows)
		case 'n', 'i':
			f.ints = make([][]int64, rows)
		default:
			f.floats = make([][]float32, rows)
		}
		for row := range rows {
			n := f.width
			switch {
			case name[0] == 'v' && c.ragged: // as many as w0 or w1
				n = out[name[1]-'0'].size(row)
			case n == 0:
				n = d.r.IntN(4)
			}
			d.fill(&f, row, n)
		}
		out = append(out, f)
	}
	return out
}

// scalars are the features with one value whose dense rows are scalars.
var scalars = map[string]bool{"y": true, "w0": true, "w3": true, "n0": true, "v0": true}

// width is the number of values of a feature in every row; 0: any number.
func (c columnsExport) width(name string) int {
	switch {
	case name == "x":
		return 3
	case name == "y":
		return 1
	case c.ragged:
		return 0
	case scalars[name]:
		return 1
	}
	return 2
}

type exportDraw struct {
	r *rand.Rand
	c columnsExport
}

func (d exportDraw) fill(f *exportFeature, row, n int) {
	for range n {
		switch f.name[0] {
		case 'w':
			f.strings[row] = append(f.strings[row], d.word())
		case 'n':
			f.ints[row] = append(f.ints[row], d.integer())
		case 'i':
			f.ints[row] = append(f.ints[row], d.level(f.name))
		case 'y':
			f.floats[row] = append(f.floats[row], []float32{exportDefault, float32(d.r.ExpFloat64()) + 1e-6}[d.r.IntN(2)])
		default:
			f.floats[row] = append(f.floats[row], float32(d.r.NormFloat64()))
		}
	}
}

func (d exportDraw) word() []byte {
	switch d.r.IntN(8) {
	case 0:
		if !d.c.plain {
			return []byte{}
		}
	case 1:
		return []byte(strings.Repeat("long ", 1+d.r.IntN(200)))
	case 2:
		out := make([]byte, 1+d.r.IntN(40)) // mostly not UTF-8
		for i := range out {
			out[i] = byte(d.r.IntN(256))
		}
		return out
	}
	return []byte([]string{"the", "a", "\xff\xfe", "zebra", "last", "other"}[d.r.IntN(6)])
}

func (d exportDraw) integer() int64 {
	v := []int64{-1, 3, 4, -7, 1000000007, math.MinInt64, math.MaxInt64, d.r.Int64(), -d.r.Int64(), int64(d.r.IntN(100))}[d.r.IntN(10)]
	if v == -1 && d.c.plain {
		return 0
	}
	return v
}

// level is an id; i0 has a default for ids out of range.
func (d exportDraw) level(name string) int64 {
	v := int64(d.r.IntN(10) - 3)
	if name == "i0" {
		v = int64(d.r.IntN(20) - 7)
	}
	if v == -1 && d.c.plain {
		return 0
	}
	return v
}

// array is the feature as an Arrow array.
func (f exportFeature) array() arrow.Array {
	var of arrow.DataType = arrow.PrimitiveTypes.Float32
	switch {
	case f.strings != nil:
		of = arrow.BinaryTypes.Binary
	case f.ints != nil:
		of = arrow.PrimitiveTypes.Int64
	}
	var list array.ListLikeBuilder = array.NewListBuilder(memory.DefaultAllocator, of)
	if f.width > 0 {
		list = array.NewFixedSizeListBuilder(memory.DefaultAllocator, int32(f.width), of)
	}
	for row := range f.rows() {
		list.Append(true)
		for i := range f.size(row) {
			switch b := list.ValueBuilder().(type) {
			case *array.BinaryBuilder:
				b.Append(f.strings[row][i])
			case *array.Int64Builder:
				b.Append(f.ints[row][i])
			case *array.Float32Builder:
				b.Append(f.floats[row][i])
			}
		}
	}
	if f.scalar {
		return list.NewArray().(*array.FixedSizeList).ListValues()
	}
	return list.NewArray()
}

// padded is the feature as a tensor for a placeholder.
func (f exportFeature) padded() *tensor.Tensor {
	width := f.width
	for row := range f.rows() {
		width = max(width, f.size(row))
	}
	out := tensor.New(tensor.String, f.rows(), width)
	switch {
	case f.ints != nil:
		out = tensor.New(tensor.Int64, f.rows(), width)
		for i := range tensor.Values[int64](out) {
			tensor.Values[int64](out)[i] = -1
		}
	case f.floats != nil:
		out = tensor.New(tensor.Float32, f.rows(), width)
		for i := range tensor.Values[float32](out) {
			tensor.Values[float32](out)[i] = float32(math.NaN())
		}
	}
	for row := range f.rows() {
		switch {
		case f.strings != nil:
			for i := range width {
				out.Strings[row*width+i] = []byte{}
			}
			copy(out.Strings[row*width:], f.strings[row])
		case f.ints != nil:
			copy(tensor.Values[int64](out)[row*width:], f.ints[row])
		default:
			copy(tensor.Values[float32](out)[row*width:], f.floats[row])
		}
	}
	if f.scalar {
		out.Shape = out.Shape[:1]
	}
	return out
}

// proto is the feature of a row as a Feature of tf.Example.
func (f exportFeature) proto(row int) *example_protos_go_proto.Feature {
	switch {
	case f.strings != nil:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_BytesList{BytesList: &example_protos_go_proto.BytesList{Value: f.strings[row]}}}
	case f.ints != nil:
		return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: f.ints[row]}}}
	}
	return &example_protos_go_proto.Feature{Kind: &example_protos_go_proto.Feature_FloatList{FloatList: &example_protos_go_proto.FloatList{Value: f.floats[row]}}}
}
