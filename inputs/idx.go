package inputs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/tensor"
)

// idxTypes maps the type codes of the IDX format to element types.
// Source: the description of the IDX file format on the MNIST page (LeCun, Cortes, Burges).
var idxTypes = map[byte]tensor.DType{
	0x08: tensor.Uint8, 0x09: tensor.Int8, 0x0b: tensor.Int16,
	0x0c: tensor.Int32, 0x0d: tensor.Float32, 0x0e: tensor.Float64,
}

// IDXFiles names the files of an IDX data set; either may be gzip.
type IDXFiles struct {
	Images string // examples of any rank
	Labels string // "": there are none
}

// IDX reads the files of an IDX data set (MNIST's format) into memory: "image" of
// the file's type, [height, width, 1] if examples are matrices, and "label" int64.
func IDX(files IDXFiles, mem memory.Allocator) (Indexed, error) {
	return openIDX(context.Background(), files, mem)
}

func openIDX(ctx context.Context, files IDXFiles, mem memory.Allocator) (Indexed, error) {
	images, err := readIDX(ctx, files.Images)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(images.Shape[1:])
	if len(shape) == 2 {
		shape = append(shape, 1)
	}
	columns := []Column{{Name: "image", DType: images.DType, Shape: shape}}
	var ids []int64
	names := []string{files.Images}
	if files.Labels != "" {
		names = append(names, files.Labels)
		labels, err := readIDX(ctx, files.Labels)
		if err != nil {
			return nil, err
		}
		if ids, err = idxLabels(labels); err != nil {
			return nil, &DataError{File: files.Labels, Err: err}
		}
		if len(ids) != images.Shape[0] {
			return nil, fileError(files.Labels, "it has %d labels but %s has %d images: name files that belong together",
				len(ids), files.Images, images.Shape[0])
		}
		columns = append(columns, labelColumn)
	}
	if images.Shape[0] == 0 {
		return nil, fileError(files.Images, "%w: it holds 0 images", ErrEmpty)
	}
	s, err := NewSchema(columns...)
	if err != nil {
		return nil, &DataError{File: files.Images, Err: err}
	}
	n := &node{schema: s, mem: alloc(mem), origin: origin{files: names}, desc: fmt.Sprintf("idx(%s,%v)", baseNames(names), images.Shape),
		place: func(row int64) DataError { return DataError{File: baseNames(names), Row: row + 1} }}
	return newIndexed(n, int64(images.Shape[0]), func(ctx context.Context, rows []int64) (arrow.Record, error) {
		return idxRecord(ctx, n, images, ids, rows), nil
	}), nil
}

// idxRecord copies rows of the images, and of the labels if there are any.
func idxRecord(ctx context.Context, n *node, images *tensor.Tensor, ids []int64, rows []int64) arrow.Record {
	size, mem := len(images.Bytes)/images.Shape[0], memoryOf(ctx, n.mem)
	b := newBuffer(mem, len(rows)*size)
	defer b.Release()
	dst := b.Bytes()
	for i, r := range rows {
		copy(dst[i*size:(i+1)*size], images.Bytes[int(r)*size:])
	}
	if ids == nil {
		return recordOf(n.schema.Arrow(), len(rows), b)
	}
	l := newBuffer(mem, len(rows)*8)
	defer l.Release()
	for i, out := 0, arrow.Int64Traits.CastFromBytes(l.Bytes()); i < len(rows); i++ {
		out[i] = ids[rows[i]]
	}
	return recordOf(n.schema.Arrow(), len(rows), b, l)
}

func readIDX(ctx context.Context, name string) (*tensor.Tensor, error) {
	data, err := readFile(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := parseIDX(data)
	if errors.Is(err, errNoIDX) {
		if other := mistaken(name, "idx", "an IDX file", data[:min(len(data), headBytes)]); other != nil {
			return nil, other
		}
	}
	if err != nil {
		return nil, &DataError{File: name, Err: err}
	}
	return t, nil
}

var errNoIDX = errors.New("this is not an IDX file")

// parseIDX returns the array that an IDX file holds. It may reuse data.
func parseIDX(data []byte) (*tensor.Tensor, error) {
	if len(data) < 4 || data[0] != 0 || data[1] != 0 || idxTypes[data[2]] == tensor.Invalid || data[3] == 0 {
		return nil, fmt.Errorf("wrong magic number % x, expected 00 00 08 03 (images) or 00 00 08 01 (labels): %w", data[:min(4, len(data))], errNoIDX)
	}
	t := &tensor.Tensor{DType: idxTypes[data[2]], Shape: make([]int, data[3])}
	body := data[4:]
	if len(body) < 4*len(t.Shape) {
		return nil, fmt.Errorf("file ends within its header: it has %d bytes, expected %d; get the file again", len(data), 4+4*len(t.Shape))
	}
	want := uint64(t.DType.Size())
	for i := range t.Shape {
		d := uint64(binary.BigEndian.Uint32(body[4*i:]))
		t.Shape[i] = int(d)
		if d != 0 && want > 1<<40/d {
			return nil, fmt.Errorf("header claims dimensions %v..., too many elements: the file is damaged", t.Shape[:i+1])
		}
		want *= d
	}
	body = body[4*len(t.Shape):]
	if uint64(len(body)) != want {
		return nil, fmt.Errorf("file has %d bytes of data, its header says %v %s, that is %d bytes: it is cut short or damaged, get it again",
			len(body), t.Shape, t.DType, want)
	}
	// Elements wider than a byte are copied to aligned memory, in host byte order.
	t.Bytes = body
	if w := t.DType.Size(); w > 1 {
		t.Bytes = tensor.New(tensor.Uint8, len(body)).Bytes
		for i := 0; i < len(body); i += w {
			for k := range w {
				t.Bytes[i+k] = body[i+w-1-k]
			}
		}
	}
	return t, nil
}

// idxLabels converts labels of any integer type to int64.
func idxLabels(t *tensor.Tensor) ([]int64, error) {
	if len(t.Shape) != 1 {
		return nil, fmt.Errorf("labels have shape %v, expected one dimension: is this the file of the images?", t.Shape)
	}
	out := make([]int64, t.Shape[0])
	for i := range out {
		switch t.DType {
		case tensor.Uint8:
			out[i] = int64(t.Bytes[i])
		case tensor.Int8:
			out[i] = int64(int8(t.Bytes[i]))
		case tensor.Int16:
			out[i] = int64(int16(binary.LittleEndian.Uint16(t.Bytes[2*i:])))
		case tensor.Int32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(t.Bytes[4*i:])))
		default:
			return nil, fmt.Errorf("labels are %s, expected integers", t.DType)
		}
	}
	return out, nil
}
