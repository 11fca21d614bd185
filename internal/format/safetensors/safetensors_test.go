package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// file returns a file with a header and n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func Example() {
	data := file(`{"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
	list, err := Read(bytes.NewReader(data), int64(len(data)))
	fmt.Println(list[0].Name, list[0].DType, list[0].Shape, err)
	// Output: bias float32 [2] <nil>
}

func TestReadRefuses(t *testing.T) {
	for want, data := range map[string][]byte{
		"the file ends":                       []byte("short"),
		"expected at most 2":                  append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...),
		"expected at most 2 ":                 append(binary.LittleEndian.AppendUint64(nil, 1<<63), "{}"...),
		"no JSON object":                      file(`[]`, 0),
		"unexpected EOF":                      file(`{"a":{"dtype":"F32"`, 0),
		"header: ":                            file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}`, 4),
		"is there twice":                      file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0),
		"expected two numbers":                file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}`, 4),
		`element type "F4"`:                   file(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}}`, 4),
		"bytes 0 to 8 of 4":                   file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4),
		"bytes 4 to 0 of 4":                   file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,0]}}`, 4),
		"expected 4":                          file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, 8),
		"takes 8 bytes":                       file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4),
		"is too large":                        file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 4),
		"expected 0, where the one before it": file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`, 4),
		"begins at offset 1, expected 2":      file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}}`, 4),
		"the file has 4 for them":             file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 4),
		"__metadata__":                        file(`{"__metadata__":{"a":1}}`, 0),
		"header of tensor":                    file(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,2]}}`, 2),
	} {
		_, err := Read(bytes.NewReader(data), int64(len(data)))
		if !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// FuzzRead: what is read has the listed size; nothing panics.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"kinds", "brain"} {
		data, err := os.ReadFile("../../../models/weights/testdata/" + name + ".safetensors")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(file(`{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},"__metadata__":{"x":"y"}}  `, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, e := range list {
			x, err := e.Load()
			if err != nil || int64(len(x.Bytes)) != e.Bytes() || len(x.Bytes) > len(data) {
				t.Fatalf("%+v: %v, %v", e, x, err)
			}
		}
	})
}
