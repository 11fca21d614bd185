package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// maxHeader is the format's own limit for the header.
const maxHeader = 100_000_000

// metadataKey is the key of the metadata, which describes the file.
const metadataKey = "__metadata__"

var dtypes = map[string]tensor.DType{
	"F64": tensor.Float64, "F32": tensor.Float32, "F16": tensor.Float16, "BF16": tensor.BFloat16,
	"F8_E5M2": tensor.Float8E5M2, "F8_E4M3": tensor.Float8E4M3FN, "C64": tensor.Complex64,
	"I64": tensor.Int64, "I32": tensor.Int32, "I16": tensor.Int16, "I8": tensor.Int8,
	"U64": tensor.Uint64, "U32": tensor.Uint32, "U16": tensor.Uint16, "U8": tensor.Uint8, "BOOL": tensor.Bool,
}

// header describes one tensor; offsets count from the end of the header.
type header struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Is reports whether a file that begins with head may be in the format.
func Is(head []byte) bool {
	return len(head) > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) <= maxHeader
}

// Read lists the tensors of a file of size bytes, sorted by name. Damage is an error that
// wraps tensorfile.ErrFormat.
func Read(r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	var length [8]byte
	if err := tensorfile.ReadFull(r, length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, tensorfile.Errorf("a header of %d bytes, expected at most %d", n, min(maxHeader, size-8))
	}
	text := make([]byte, n)
	if err := tensorfile.ReadFull(r, text, 8); err != nil {
		return nil, err
	}
	headers, err := parse(text)
	if err != nil {
		return nil, err
	}
	return entries(headers, io.NewSectionReader(r, 8+int64(n), size-8-int64(n)))
}

// named is a tensor of the header.
type named struct {
	name string
	header
}

// parse parses the header token by token; a duplicate name is an error.
func parse(text []byte) ([]named, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, tensorfile.Errorf("the header is no JSON object")
	}
	var list []named
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, tensorfile.Errorf("header: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, tensorfile.Errorf("tensor %q is there twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			var texts map[string]string
			if err := d.Decode(&texts); err != nil {
				return nil, tensorfile.Errorf("header: %s: %w", metadataKey, err)
			}
			continue
		}
		n := named{name: name}
		if err := d.Decode(&n.header); err != nil {
			return nil, tensorfile.Errorf("header of tensor %q: %w", name, err)
		}
		list = append(list, n)
	}
	if _, err := d.Token(); err != nil {
		return nil, tensorfile.Errorf("header: %w", err)
	}
	return list, nil
}

// entries checks that the tensors fill the data without gaps or overlaps.
func entries(list []named, data *io.SectionReader) ([]tensorfile.Entry, error) {
	out := make([]tensorfile.Entry, 0, len(list))
	for _, n := range list {
		if len(n.Offsets) != 2 {
			return nil, tensorfile.Errorf("tensor %q: data_offsets %v, expected two numbers", n.name, n.Offsets)
		}
	}
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	end := uint64(0)
	for _, n := range list {
		e, err := n.entry(data)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", n.name, err)
		}
		if n.Offsets[0] != end {
			return nil, tensorfile.Errorf("tensor %q begins at offset %d, expected %d, where the one before it ends", n.name, n.Offsets[0], end)
		}
		end = n.Offsets[1]
		out = append(out, e)
	}
	if end != uint64(data.Size()) {
		return nil, tensorfile.Errorf("the tensors take %d bytes, and the file has %d for them", end, data.Size())
	}
	slices.SortFunc(out, func(a, b tensorfile.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (n named) entry(data *io.SectionReader) (tensorfile.Entry, error) {
	e := tensorfile.Entry{Name: n.name, DType: dtypes[n.DType]}
	if e.DType == tensor.Invalid {
		return e, tensorfile.Errorf("element type %q", n.DType)
	}
	begin, end := n.Offsets[0], n.Offsets[1]
	if begin > end || end > uint64(data.Size()) {
		return e, tensorfile.Errorf("bytes %d to %d of %d", begin, end, data.Size())
	}
	var err error
	if e.Shape, err = tensorfile.ShapeOf(n.Shape, e.DType.Size(), int64(end-begin)); err != nil {
		return e, err
	}
	if uint64(e.Bytes()) != end-begin {
		return e, tensorfile.Errorf("%d bytes for %v%v, expected %d", end-begin, e.DType, e.Shape, e.Bytes())
	}
	e.Load = func() (*tensor.Tensor, error) { return tensorfile.Read(data, int64(begin), e.DType, e.Shape) }
	return e, nil
}
