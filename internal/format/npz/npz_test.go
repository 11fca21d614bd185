package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// archive returns a ZIP file with one array.
func archive(t testing.TB, method uint16, body string) *zip.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	m, err := w.CreateHeader(&zip.FileHeader{Name: "a.npy", Method: method})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Write([]byte(body))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// array returns an array in version 1 of the format.
func array(header string, data string) string {
	return magic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + data
}

func Example() {
	z := archive(&testing.T{}, zip.Deflate, array("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", "\x00\x01\x01\x00"))
	list, _ := Read(z)
	x, err := list[0].Load()
	fmt.Println(list[0].Name, tensor.Values[int16](x), err)
	// Output: a [1 256] <nil>
}

func TestReadRefuses(t *testing.T) {
	const f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	for want, body := range map[string]string{
		"it does not begin":         "nothing",
		"version 4":                 magic + "\x04\x00\x01\x00 ",
		"header: unexpected EOF":    magic + "\x01\x00\xff\x00{}",
		"at most 65536":             magic + "\x02\x00\xff\xff\xff\xff",
		"expected descr":            array("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", ""),
		"would be pickles":          array("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "") + "",
		"would be pickles ":         array("{'descr': '|O8', 'fortran_order': False, 'shape': (2,)}", ""),
		`element type "|V2"`:        array("{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", ""),
		"value out of range":        array("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
		"67 bytes for float32[2]":   array(f4, ""),
		"expected 75":               array(f4, "123456789"),
		"takes 80 bytes":            array("{'descr': '<f4', 'fortran_order': False, 'shape': (20,)}", ""),
		"is too large":              array("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""),
		"shape (1 2)":               array("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", ""),
		"expected descr, fortran_o": array("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", ""),
	} {
		_, err := Read(archive(t, zip.Store, body))
		if !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}

// TestDamage: the archive's checksum detects changed bytes; a size that deflate cannot reach is refused.
func TestDamage(t *testing.T) {
	data, err := os.ReadFile("../../../models/weights/testdata/stored.npz")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("of/float64.npy")) + 300
	data[at]++
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Read(z)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, e := range list {
		if _, err := e.Load(); errors.Is(err, tensorfile.ErrFormat) {
			wrong++
		}
	}
	if wrong != 1 {
		t.Errorf("%d arrays are damaged, expected 1", wrong)
	}
	z = archive(t, zip.Deflate, array("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000,), }", strings.Repeat("x", 1000)))
	z.File[0].UncompressedSize64 = 1e9 + 78
	if _, err := Read(z); !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), "compressed ones") {
		t.Errorf("an archive that claims too much: %v", err)
	}
}

// FuzzRead: what is read has the listed size; nothing panics.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"stored", "deflated", "objects"} {
		data, err := os.ReadFile("../../../models/weights/testdata/" + name + ".npz")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		list, err := Read(z)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.Bytes() > int64(len(data)+1)*2*inflation {
				t.Fatalf("%v%v of %d bytes", e.DType, e.Shape, len(data))
			}
			x, err := e.Load()
			if err == nil && int64(len(x.Bytes)) != e.Bytes() {
				t.Fatalf("%+v: %v", e, x.Shape)
			}
		}
	})
}
