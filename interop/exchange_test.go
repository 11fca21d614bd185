package interop_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// entry is one tensor in manifest.json: a .npy file beside it, or strings.
type entry struct {
	Name    string   `json:"name"`
	File    string   `json:"file,omitempty"`
	Shape   []int    `json:"shape"`
	Strings [][]byte `json:"strings,omitempty"` // base64
}

// numpyTypes are NumPy's names of the types that can be exchanged.
var numpyTypes = map[tensor.DType]string{
	tensor.Float32: "<f4", tensor.Float64: "<f8", tensor.Int8: "|i1", tensor.Int16: "<i2", tensor.Int32: "<i4", tensor.Int64: "<i8",
	tensor.Uint8: "|u1", tensor.Uint16: "<u2", tensor.Uint32: "<u4", tensor.Uint64: "<u8", tensor.Bool: "|b1",
}

// save writes tensors to a new folder dir.
func save(t *testing.T, dir string, tensors map[string]*tensor.Tensor) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var list []entry
	for name, x := range tensors {
		e := entry{Name: name, Shape: append([]int{}, x.Shape...)}
		if x.DType == tensor.String {
			e.Strings = x.Strings
		} else {
			e.File = fmt.Sprintf("%d.npy", len(list))
			write(t, filepath.Join(dir, e.File), npy(t, x))
		}
		list = append(list, e)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "manifest.json"), b)
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// npy encodes a tensor in NumPy's format, version 1.0.
func npy(t *testing.T, x *tensor.Tensor) []byte {
	t.Helper()
	kind, ok := numpyTypes[x.DType]
	if !ok {
		t.Fatalf("no NumPy type for %v", x.DType)
	}
	var dims strings.Builder
	for _, d := range x.Shape {
		fmt.Fprintf(&dims, "%d,", d)
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, dims.String())
	head += strings.Repeat(" ", 63-(len(head)+10)%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(out, head...), x.Bytes...)
}

// load reads the tensors in a folder that exchange.py wrote.
func load(t *testing.T, dir string) map[string]*tensor.Tensor {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]*tensor.Tensor{}
	for _, e := range list {
		if e.File == "" {
			out[e.Name] = &tensor.Tensor{DType: tensor.String, Shape: e.Shape, Strings: e.Strings}
			continue
		}
		out[e.Name] = readNPY(t, filepath.Join(dir, e.File))
	}
	return out
}

var npyHead = regexp.MustCompile(`'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\)`)

func readNPY(t *testing.T, path string) *tensor.Tensor {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	body := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	m := npyHead.FindSubmatch(b[:body])
	if m == nil {
		t.Fatalf("%s: header %q", path, b[:body])
	}
	var shape []int
	for _, d := range strings.FieldsFunc(string(m[2]), func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			t.Fatal(err)
		}
		shape = append(shape, n)
	}
	for d, kind := range numpyTypes {
		if kind == string(m[1]) {
			x := tensor.New(d, shape...)
			copy(x.Bytes, b[body:])
			return x
		}
	}
	t.Fatalf("%s: type %s", path, m[1])
	return nil
}

// equal compares two tensors bit for bit.
func equal(t *testing.T, name string, got, want *tensor.Tensor) {
	t.Helper()
	switch {
	case got == nil || want == nil:
		t.Errorf("%s: got %v, want %v", name, got, want)
	case got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape):
		t.Errorf("%s: got %v%v, want %v%v", name, got.DType, got.Shape, want.DType, want.Shape)
	case !bytes.Equal(got.Bytes, want.Bytes) || fmt.Sprintf("%q", got.Strings) != fmt.Sprintf("%q", want.Strings):
		t.Errorf("%s: values differ", name)
	}
}
