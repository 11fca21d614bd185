package inputs

import (
	"context"
	"encoding/binary"
	"errors"
	stdimage "image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// decodedBy returns the decoded column b of a TFRecord file, with all rows in one batch.
func decodedBy(t *testing.T, step TransformSpec, rows ...string) (NamedTensor, error) {
	none := NamedTensor{Tensor: tensor.New(tensor.Uint8, 0)}
	t.Helper()
	var examples []map[string]any
	for _, r := range rows {
		examples = append(examples, map[string]any{"b": []string{r}, "y": []int64{7}})
	}
	step.Column = "b"
	s := DefaultSpec()
	s.Format, s.Files, s.BatchSize, s.Transforms = "tfrecord", []string{write(t, "b.tfrecord", records(t, examples...))}, len(rows), []TransformSpec{step}
	s.Columns = []ColumnSpec{{Name: "b", DType: "string"}, {Name: "y", DType: "int64", Role: Label}}
	s.Complete()
	if err := s.Validate(); err != nil {
		return none, err
	}
	ds, err := Open(context.Background(), s, Context{Mode: Train})
	if err != nil {
		return none, err
	}
	it, err := ds.Iterate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	ts, err := nextTensors(t, it, ds.Schema())
	if err != nil {
		return none, err
	}
	if ts[1].Name != "y" || ts[1].Tensor.Int(0) != 7 {
		t.Errorf("the label: got %v", ts[1])
	}
	return ts[0], nil
}

func TestDecodeRaw(t *testing.T) {
	got, err := decodedBy(t, TransformSpec{Kind: "decode_raw", DType: "uint8", Shape: []int{2, 2, 1}}, "\x00\x01\x02\xff", "abcd")
	if err != nil || !slices.Equal(got.Tensor.Shape, []int{2, 2, 2, 1}) || !slices.Equal(tensor.Values[uint8](got.Tensor), []uint8{0, 1, 2, 255, 'a', 'b', 'c', 'd'}) {
		t.Errorf("bytes: got %v %v, %v", got.Tensor.Shape, got.Tensor.Bytes, err)
	}
	two := binary.LittleEndian.AppendUint64(nil, 5)
	got, err = decodedBy(t, TransformSpec{Kind: "decode_raw", DType: "int64"}, string(two), string(two))
	if err != nil || len(got.Tensor.Shape) > 2 || !slices.Equal(tensor.Values[int64](got.Tensor), []int64{5, 5}) {
		t.Errorf("a number in each row: got %v %v, %v", got.Tensor.Shape, got.Tensor.Bytes, err)
	}
	_, err = decodedBy(t, TransformSpec{Kind: "decode_raw", DType: "int32", Shape: []int{2}}, "12345678", "1234567")
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 || row.Column != "b" || !strings.Contains(err.Error(), "it has 7 bytes, expected 8 of int32[2]") {
		t.Errorf("too few bytes: got %v", err)
	}
}

func TestDecodeImage(t *testing.T) {
	im := stdimage.NewGray(stdimage.Rect(0, 0, 3, 2))
	im.SetGray(1, 0, color.Gray{Y: 9})
	file := string(pngOf(t, im))
	got, err := decodedBy(t, TransformSpec{Kind: "decode_image", Shape: []int{2, 3, 1}}, file, file)
	if err != nil || got.Tensor.DType != tensor.Uint8 || !slices.Equal(got.Tensor.Shape, []int{2, 2, 3, 1}) || !slices.Equal(tensor.Values[uint8](got.Tensor)[:6], []uint8{0, 9, 0, 0, 0, 0}) {
		t.Errorf("grey: got %v %v, %v", got.Tensor.Shape, got.Tensor.Bytes, err)
	}
	got, err = decodedBy(t, TransformSpec{Kind: "decode_image", Shape: []int{4, 6, 3}}, file)
	if err != nil || !slices.Equal(got.Tensor.Shape, []int{1, 4, 6, 3}) {
		t.Errorf("resized, in colours: got %v, %v", got.Tensor.Shape, err)
	}
	_, err = decodedBy(t, TransformSpec{Kind: "decode_image", Shape: []int{2, 3, 1}}, file, file[:20])
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("a damaged image: got %v", err)
	}
	if _, err = decodedBy(t, TransformSpec{Kind: "decode_image", Shape: []int{2, 3, 1}}, "PK"); err == nil || !strings.Contains(err.Error(), "PNG, JPEG, WebP, GIF or BMP") {
		t.Errorf("no image: got %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for want, step := range map[string]TransformSpec{
		"expected [height, width, channels] of an image": {Kind: "decode_image", Shape: []int{2, 3}},
		"with 1 or 3 channels":                           {Kind: "decode_image", Shape: []int{2, 3, 4}},
		"expected sizes > 0":                             {Kind: "decode_raw", DType: "uint8", Shape: []int{0}},
		"of at most 67108864 numbers":                    {Kind: "decode_raw", DType: "uint8", Shape: []int{1 << 14, 1 << 14}},
		"dtype: got \"bool\"":                            {Kind: "decode_raw", DType: "bool"},
		"shape: got nothing, expected it for kind":       {Kind: "decode_image"},
		"dtype: got nothing, expected it for kind":       {Kind: "decode_raw"},
		"shape: got [2], expected none":                  {Kind: "dedupe", Shape: []int{2}},
	} {
		if _, err := decodedBy(t, step, "ab"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, expected %q", step, err, want)
		}
	}
	x := must[Dataset](t)(CSV([]string{write(t, "t.csv", []byte("1,a\n"))}, CSVOptions{Columns: []ColumnSpec{{Name: "x"}, {Name: "shaped", DType: "string", Shape: []int{1}}}}))
	for column, want := range map[string]string{"x": "expected bytes", "shaped": "without a shape", "z": "z"} {
		_, err := Pipe(x, Map(Decode(Decoding{Column: column, Raw: tensor.Uint8, Shape: []int{1}}))).Iterate(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("column %s: got %v, expected %q", column, err, want)
		}
	}
}
