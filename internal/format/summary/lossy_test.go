package summary

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// TestLossy: events of a file that cannot be written are lost, which is reported once; later events are in a new file.
func TestLossy(t *testing.T) {
	m := atomicfile.NewMem()
	full := false
	m.SetFault(func(op atomicfile.Op, path string) error {
		if full && (op == atomicfile.OpWrite || op == atomicfile.OpCreate) {
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return nil
	})
	var opened, lost int
	w := NewLossy(func() Writer { opened++; return NewFileWriter("/d", Options{FS: m, FlushEvery: -1}) }, func(err error) {
		lost++
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("lost for %v", err)
		}
	})
	written := func() (n int) {
		names, err := m.ReadDir("/d")
		must(t, err)
		for _, name := range names {
			f, err := m.OpenFile("/d/"+name, os.O_RDONLY, 0)
			must(t, err)
			size, err := f.Size()
			must(t, err)
			b := make([]byte, size)
			if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			n += strings.Count(string(b), "loss")
		}
		return n
	}
	for step := int64(1); step <= 12; step++ {
		full = step >= 3 && step < 9
		must(t, w.Scalar(step, "loss", 1))
		if step%4 == 0 {
			must(t, w.Flush())
		}
	}
	if got := written(); got != 2+4 || opened != 3 || lost != 1 { // 1 and 2, then 9 to 12: the second file failed at 5
		t.Errorf("%d events of steps, in %d files, told %d times", got, opened, lost)
	}
	if err := w.Scalar(13, "a\xff", 1); err == nil {
		t.Error("an event that is wrong is no error")
	}
	must(t, w.Close())
	if err := w.Scalar(14, "loss", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
