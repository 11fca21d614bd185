package npz

import (
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// magic begins an NPY file.
const magic = "\x93NUMPY"

// maxHeader bounds the description of an array. NumPy's own limit is 10000 bytes.
const maxHeader = 1 << 16

// header describes an array.
type header struct {
	dtype     tensor.DType
	bigEndian bool
	fortran   bool // the first dimension changes fastest
	dims      []uint64
	length    int64 // bytes of the header itself
}

var dtypes = map[string]tensor.DType{
	"b1": tensor.Bool, "i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32, "i8": tensor.Int64,
	"u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64,
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64, "c8": tensor.Complex64, "c16": tensor.Complex128,
}

// The header is a Python dictionary with three keys, in any order.
var (
	descrKey   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([<>|=])([a-zA-Z]\d*(?:\[\w+\])?)['"]`)
	fortranKey = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeKey   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([\d\s,L]*)\)`)
)

// readHeader reads the beginning of an array.
func readHeader(r io.Reader) (header, error) {
	var begin [12]byte
	if _, err := io.ReadFull(r, begin[:10]); err != nil || string(begin[:6]) != magic {
		return header{}, tensorfile.Errorf("it does not begin as NumPy's arrays do")
	}
	length, before := uint32(binary.LittleEndian.Uint16(begin[8:])), int64(10)
	switch begin[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, begin[10:]); err != nil {
			return header{}, tensorfile.Errorf("header: %w", err)
		}
		length, before = binary.LittleEndian.Uint32(begin[8:]), 12
	default:
		return header{}, tensorfile.Errorf("version %d of the format, expected 1 to 3", begin[6])
	}
	if length > maxHeader {
		return header{}, tensorfile.Errorf("a header of %d bytes, expected at most %d", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, tensorfile.Errorf("header: %w", err)
	}
	h, err := parse(string(text))
	h.length = before + int64(length)
	return h, err
}

func parse(text string) (header, error) {
	descr, fortran, shape := descrKey.FindStringSubmatch(text), fortranKey.FindStringSubmatch(text), shapeKey.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return header{}, tensorfile.Errorf("header %q: expected descr, fortran_order and shape of numbers", clip(text))
	}
	h := header{dtype: dtypes[descr[2]], bigEndian: descr[1] == ">", fortran: fortran[1] == "True"}
	if h.dtype == tensor.Invalid {
		return h, tensorfile.Errorf("element type %q: expected numbers (Python objects would be pickles)", descr[1]+descr[2])
	}
	for d := range strings.SplitSeq(shape[1], ",") {
		if d = strings.Trim(d, " L\t\n"); d == "" {
			continue
		}
		n, err := strconv.ParseUint(d, 10, 64)
		if err != nil {
			return h, tensorfile.Errorf("shape (%s): %w", clip(shape[1]), err)
		}
		h.dims = append(h.dims, n)
	}
	return h, nil
}

// clip shortens text from a file for a message.
func clip(text string) string {
	const most = 120
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
