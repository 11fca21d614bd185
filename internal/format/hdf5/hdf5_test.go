package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/tensor"
)

// written returns a file written by h5py.
func written(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../models/weights/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func Example() {
	data, err := os.ReadFile("../../../models/weights/testdata/late.h5")
	if err != nil {
		panic(err)
	}
	list, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err)
	}
	x, err := list[0].Load()
	fmt.Println(list[0].Name, tensor.Values[float32](x), err)
	// Output: group/a [-3 -2.5 -2 -1.5 -1 -0.5] <nil>
}

// readAll reads a file and all of its datasets, and reports the first error.
func readAll(data []byte) error {
	list, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Bytes() > 1<<20 {
			continue
		}
		x, err := e.Load()
		if err != nil {
			return err
		}
		if int64(len(x.Bytes)) != e.Bytes() {
			return fmt.Errorf("%s: %d bytes, expected %d", e.Name, len(x.Bytes), e.Bytes())
		}
	}
	return nil
}

// TestUserBlock: a file may begin with a user block, after which addresses count.
func TestUserBlock(t *testing.T) {
	data := written(t, "late.h5")
	if err := readAll(data); err != nil {
		t.Fatal(err)
	}
	if Is(bytes.NewReader(append(make([]byte, 100), data...)), int64(len(data)+100)) || !Is(bytes.NewReader(append(make([]byte, 1024), data...)), int64(len(data)+1024)) {
		t.Error("a superblock is at 0, 512, 1024, ...")
	}
}

// TestCut: a truncated file is not read as a whole one, and does not panic.
func TestCut(t *testing.T) {
	for _, name := range []string{"late.h5", "weights.h5", "kinds.h5"} {
		data := written(t, name)
		for n := 0; n < len(data); n += 1 + len(data)/200 {
			if err := readAll(data[:n]); err == nil && n < len(data)/2 {
				t.Errorf("%s: %d of %d bytes are accepted", name, n, len(data))
			} else if err != nil && !errors.Is(err, tensorfile.ErrFormat) {
				t.Errorf("%s, %d bytes: %v", name, n, err)
			}
		}
	}
}

// TestChecksum: Fletcher's checksum detects changed bytes in a chunk.
func TestChecksum(t *testing.T) {
	data := written(t, "kinds.h5")
	list, err := Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name != "chunks/checked" {
			continue
		}
		x, err := e.Load()
		if err != nil {
			t.Fatal(err)
		}
		// The first chunk holds columns 0 and 1.
		chunk := append(append(append([]byte{}, x.Bytes[:4]...), x.Bytes[6:10]...), x.Bytes[12:16]...)
		at := bytes.Index(data, chunk)
		if at < 0 {
			t.Fatal("the chunk is not in the file")
		}
		data[at]++
		if _, err := e.Load(); !errors.Is(err, tensorfile.ErrFormat) || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("got %v, expected a wrong checksum", err)
		}
		return
	}
	t.Fatal("no chunks/checked")
}

// TestCircle: reading a structure with a cycle ends.
func TestCircle(t *testing.T) {
	data := written(t, "weights.h5")
	for at := 0; at+8 <= len(data); at += 8 {
		if !bytes.Equal(data[at:at+4], []byte("SNOD")) {
			continue
		}
		// The object of the first name is the root group.
		again := bytes.Clone(data)
		copy(again[at+16:], again[64:72])
		if err := readAll(again); !errors.Is(err, tensorfile.ErrFormat) {
			t.Errorf("a group within itself: %v", err)
		}
		return
	}
	t.Fatal("no symbol table")
}

// FuzzRead: what is read has the listed size; nothing panics or runs forever.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"late.h5", "weights.h5"} {
		f.Add(written(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(data); err != nil && !errors.Is(err, tensorfile.ErrFormat) {
			t.Fatal(err)
		}
	})
}
