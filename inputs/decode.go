package inputs

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// Decoding turns a column of bytes, such as the images of records, into numbers.
type Decoding struct {
	Column string
	// Shape of a row's value. Images, [height, width, channels] with 1 or 3 channels, are resized to it.
	Shape []int
	// Raw is the type of the little-endian numbers that the bytes hold, as in tf.io.decode_raw. The zero type means that the
	// bytes are a file: a PNG, JPEG, WebP, GIF or BMP image, which becomes a column of uint8.
	Raw tensor.DType
}

// Decode returns a Mapper that decodes a column.
func Decode(d Decoding) Mapper {
	return Mapper{Name: fmt.Sprintf("decode %q %v %v", d.Column, d.Shape, d.Raw), Schema: d.schema,
		Map: func(_ context.Context, in arrow.Record, rows Rows) (arrow.Record, error) {
			from, err := SchemaFromArrow(in.Schema())
			if err != nil {
				return nil, err
			}
			to, err := d.schema(from)
			if err != nil {
				return nil, err
			}
			i := from.Index(d.Column)
			column, err := d.decode(in.Column(i).(*array.Binary), to.columns[i], to.arrow.Field(i).Type, rows)
			if err != nil {
				return nil, err
			}
			defer column.Release()
			columns := slices.Clone(in.Columns())
			columns[i] = column
			return array.NewRecord(to.arrow, columns, in.NumRows()), nil
		}}
}

func (d Decoding) schema(in *Schema) (*Schema, error) {
	c, err := in.Column(d.Column)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode: %w", err)
	case c.DType != tensor.String || c.Ragged || len(c.Shape) > 0:
		return nil, fmt.Errorf("decode: column %s: expected bytes, one value of dtype string without a shape in each row", c)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("decode: column %q: %w", d.Column, err)
	}
	columns := slices.Clone(in.columns)
	i := in.Index(d.Column)
	columns[i].Shape, columns[i].DType = slices.Clone(d.Shape), d.dtype()
	return NewSchema(columns...)
}

// check reports an impossible shape or type.
func (d Decoding) check() error {
	n := 1
	for _, side := range d.Shape {
		if side <= 0 || n > maxPixels/side {
			return fmt.Errorf("shape: got %v, expected sizes > 0 of at most %d numbers together", d.Shape, maxPixels)
		}
		n *= side
	}
	switch {
	case d.Raw == tensor.String || d.Raw == tensor.Bool:
		return fmt.Errorf("dtype: got %v, expected a type of numbers", d.Raw)
	case d.Raw == tensor.Invalid && (len(d.Shape) != 3 || d.Shape[2] != 1 && d.Shape[2] != 3):
		return fmt.Errorf("shape: got %v, expected [height, width, channels] of an image, with 1 or 3 channels", d.Shape)
	}
	return nil
}

// dtype is the type of the column.
func (d Decoding) dtype() tensor.DType {
	if d.Raw == tensor.Invalid {
		return imageColumnType
	}
	return d.Raw
}

// decode returns the column with the numbers of each row.
func (d Decoding) decode(in *array.Binary, c Column, t arrow.DataType, rows Rows) (arrow.Array, error) {
	size := c.Size() * c.DType.Size()
	out := newBuffer(rows.Allocator, in.Len()*size)
	defer out.Release()
	for i := range in.Len() {
		value, err := d.value(in.Value(i), size)
		if err != nil {
			return nil, &RowError{Column: d.Column, Row: rows.First + int64(i), Err: err}
		}
		copy(out.Bytes()[i*size:], value)
	}
	return denseArray(t, in.Len(), out), nil
}

// value returns the decoded bytes of a row.
func (d Decoding) value(b []byte, size int) ([]byte, error) {
	if d.Raw != tensor.Invalid {
		if len(b) != size {
			return nil, fmt.Errorf("decode: it has %d bytes, expected %d of %v%v", len(b), size, d.Raw, d.Shape)
		}
		return b, nil
	}
	p, err := decodeImage(b, d.Shape[2])
	if err != nil {
		return nil, fmt.Errorf("decode: the image: %w", err)
	}
	if p.h == d.Shape[0] && p.w == d.Shape[1] {
		return p.pixels, nil
	}
	return p.resized(d.Shape[0], d.Shape[1])
}
