package inputs

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs/glyphs"
	"github.com/goestimator/goestimator/tensor"
)

// imageSchema is the schema of the image sources: "image", uint8 of the given
// shape (NHWC), and "label", an int64.
func imageSchema(shape ...int) (*Schema, error) {
	return NewSchema(Column{Name: "image", DType: tensor.Uint8, Shape: shape}, labelColumn)
}

var labelColumn = Column{Name: "label", DType: tensor.Int64, Role: Label}

// Glyphs returns count procedurally drawn digits, or endlessly many if count is 0:
// "image" uint8[28,28,1] and "label" int64, 0 to 9. Image i depends only on seed
// and i.
func Glyphs(seed, count int64, mem memory.Allocator) (Indexed, error) {
	if count < 0 {
		return nil, fmt.Errorf("glyphs count must not be negative, got %d: give a number of images, or 0 for endless ones", count)
	}
	s, err := imageSchema(glyphs.Side, glyphs.Side, 1)
	if err != nil {
		return nil, err
	}
	n := &node{schema: s, mem: alloc(mem), desc: fmt.Sprintf("glyphs(%d,%d)", seed, count)}
	length := count
	if count == 0 {
		length = math.MaxInt64
	} else {
		n.place = func(row int64) DataError { return DataError{Row: row + 1} }
	}
	return newIndexed(n, length, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		return imageRecord(ctx, n, len(rows), func(i int, image []byte) (int64, error) {
			return int64(glyphs.Draw(image, seed, rows[i])), nil
		})
	}), nil
}

// imageRecord makes a record of imageSchema; draw fills one image and returns its label.
func imageRecord(ctx context.Context, n *node, rows int, draw func(i int, image []byte) (int64, error)) (arrow.Record, error) {
	size := n.schema.columns[0].Size()
	mem := memoryOf(ctx, n.mem)
	images, labels := newBuffer(mem, rows*size), newBuffer(mem, rows*8)
	defer images.Release()
	defer labels.Release()
	pixels, ids := images.Bytes(), arrow.Int64Traits.CastFromBytes(labels.Bytes())
	for i := range rows {
		label, err := draw(i, pixels[i*size:(i+1)*size])
		if err != nil {
			return nil, err
		}
		ids[i] = label
	}
	return recordOf(n.schema.Arrow(), rows, images, labels), nil
}

// recordOf makes a record of dense columns without nulls from the buffers of their elements.
// It does not release the buffers.
func recordOf(schema *arrow.Schema, rows int, buffers ...*memory.Buffer) arrow.Record {
	cols := make([]arrow.Array, len(buffers))
	for i, f := range schema.Fields() {
		cols[i] = denseArray(f.Type, rows, buffers[i])
		defer cols[i].Release()
	}
	return array.NewRecord(schema, cols, int64(rows))
}

func denseArray(t arrow.DataType, rows int, b *memory.Buffer) arrow.Array {
	list, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		d := array.NewData(t, rows, []*memory.Buffer{nil, b}, nil, 0, 0)
		defer d.Release()
		return array.MakeFromData(d)
	}
	child := array.NewData(list.Elem(), rows*int(list.Len()), []*memory.Buffer{nil, b}, nil, 0, 0)
	defer child.Release()
	d := array.NewData(t, rows, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}
