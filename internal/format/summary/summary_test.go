package summary

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

func fixedClock() time.Time { return time.Unix(1_700_000_000, 500_000_000) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func events(t testing.TB, dir string) []*Event {
	t.Helper()
	var list []*Event
	for e, err := range Read(dir) {
		must(t, err)
		list = append(list, e)
	}
	return list
}

// The contract of every Writer.
func TestWriterContract(t *testing.T) {
	dir := t.TempDir()
	mem := &Memory{}
	for name, c := range map[string]struct {
		w       Writer
		scalars func() (Scalars, error)
	}{
		"file":   {NewFileWriter(dir, Options{}), func() (Scalars, error) { return ReadScalars(dir) }},
		"memory": {mem, func() (Scalars, error) { return mem.Scalars(), nil }},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, c.w.Scalar(1, "loss", 0.5))
			must(t, c.w.Values(2, Scalar("loss", 0.25), Text("note", "x")))
			must(t, c.w.Add(SessionCheckpoint(2, "model.ckpt-2")))
			must(t, c.w.Flush())
			got, err := c.scalars()
			must(t, err)
			if d := cmp.Diff(Scalars{1: {"loss": 0.5}, 2: {"loss": 0.25}}, got); d != "" {
				t.Fatal(d)
			}
			must(t, c.w.Close())
			must(t, c.w.Close())
			if err := c.w.Scalar(3, "loss", 0); !errors.Is(err, ErrClosed) {
				t.Fatalf("after Close: %v", err)
			}
		})
	}
}

func TestFileNameAndFirstRecord(t *testing.T) {
	dir := t.TempDir()
	w := NewFileWriter(filepath.Join(dir, "eval"), Options{Suffix: ".x", Clock: fixedClock})
	if _, err := os.Stat(w.Dir()); !errors.Is(err, fs.ErrNotExist) || w.Path() != "" {
		t.Fatal("a writer without events left something")
	}
	must(t, w.Add(SessionStart(0)))
	must(t, w.Close())
	if !regexp.MustCompile(`^events\.out\.tfevents\.1700000000\..+\.[0-9]+\.[0-9]+\.x$`).MatchString(filepath.Base(w.Path())) {
		t.Fatalf("name %s", w.Path())
	}
	list := events(t, w.Dir())
	if len(list) != 2 || list[0].GetFileVersion() != "brain.Event:2" || list[0].WallTime != 1_700_000_000.5 || list[1].WallTime != list[0].WallTime {
		t.Fatalf("got %v", list)
	}
}

func TestFlushEvery(t *testing.T) {
	dir, now := t.TempDir(), fixedClock()
	w := NewFileWriter(dir, Options{Clock: func() time.Time { return now }})
	defer w.Close()
	must(t, w.Scalar(1, "a", 1))
	if n := len(events(t, dir)); n != 0 {
		t.Fatalf("%d events before the time", n)
	}
	now = now.Add(defaultFlush)
	must(t, w.Scalar(2, "a", 1))
	if n := len(events(t, dir)); n != 3 {
		t.Fatalf("%d events after it", n)
	}
}

// TestEventThatCannotBeWritten: names must be UTF-8; the file stays valid after an event with another name.
func TestEventThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	w := NewFileWriter(dir, Options{Clock: fixedClock})
	must(t, w.Scalar(1, "a", 1))
	if err := w.Scalar(2, "a\xff", 1); err == nil || !strings.Contains(err.Error(), "event of step 2") {
		t.Errorf("got %v, expected an error of the event", err)
	}
	must(t, w.Scalar(3, "a", 1))
	must(t, w.Close())
	if n := len(events(t, dir)); n != 3 {
		t.Errorf("%d events, expected the version and 2", n)
	}
}

// TestClockSetBack: the events of a file, and the files of a directory, keep their order if the clock is set back, even by hours.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1_700_000_000, 0)
	for run, hours := range [][]int{{0, 1, -5, -4, 2}, {-3, -2}} {
		now := start
		w := NewFileWriter(dir, Options{Clock: func() time.Time { return now }})
		for i, h := range hours {
			now = start.Add(time.Duration(h) * time.Hour)
			must(t, w.Scalar(int64(10*run+i), "loss", float64(run)))
		}
		must(t, w.Close())
		last := 0.0
		for _, e := range events(t, dir) {
			if e.GetSummary() == nil || e.Step < int64(10*run) {
				continue
			}
			if e.WallTime < last {
				t.Errorf("step %d has wall time %f behind %f", e.Step, e.WallTime, last)
			}
			last = e.WallTime
		}
	}
	names, err := os.ReadDir(dir)
	must(t, err)
	if len(names) != 2 || !strings.HasPrefix(names[1].Name(), FilePrefix+"1700000001.") {
		t.Errorf("files %v, expected the second one behind the first", names)
	}
}

func TestWriteErrorKeepsErrno(t *testing.T) {
	m := atomicfile.NewMem()
	m.SetFault(func(op atomicfile.Op, path string) error {
		if op == atomicfile.OpWrite {
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return nil
	})
	w := NewFileWriter("/d", Options{FS: m})
	must(t, w.Scalar(1, "a", 1))
	if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
}

func TestRestartDropsStaleSteps(t *testing.T) {
	dir := t.TempDir()
	for _, run := range [][]int64{{0, 1, 2, 3}, {2, 3}} {
		w := NewFileWriter(dir, Options{Clock: fixedClock})
		must(t, w.Add(SessionStart(run[0])))
		for _, s := range run[1:] {
			must(t, w.Scalar(s, "loss", float64(len(run))))
		}
		must(t, w.Close())
	}
	got, err := ReadScalars(dir)
	must(t, err)
	steps, values := got.Series("loss")
	if cmp.Diff([]int64{1, 3}, steps) != "" || cmp.Diff([]float64{4, 2}, values) != "" || cmp.Diff([]string{"loss"}, got.Tags()) != "" {
		t.Fatalf("got %v", got)
	}
}

func TestTensorFlow2Scalars(t *testing.T) {
	var m Memory
	for i, p := range []*tensorpb.TensorProto{
		{Dtype: typespb.DataType_DT_FLOAT, TensorContent: []byte{0, 0, 0, 0x40}},
		{Dtype: typespb.DataType_DT_FLOAT, FloatVal: []float32{2}},
		{Dtype: typespb.DataType_DT_DOUBLE, TensorContent: []byte{0, 0, 0, 0, 0, 0, 0, 0x40}},
		{Dtype: typespb.DataType_DT_DOUBLE, DoubleVal: []float64{2}},
		{Dtype: typespb.DataType_DT_FLOAT},
	} {
		v, err := Tensor("loss", "scalars", tensor.Scalar(float32(0)))
		must(t, err)
		v.GetTensor().Reset()
		proto.Merge(v.GetTensor(), p)
		must(t, m.Values(int64(i), v))
	}
	if _, values := m.Scalars().Series("loss"); cmp.Diff([]float64{2, 2, 2, 2}, values) != "" {
		t.Fatalf("got %v", values)
	}
}

func TestEveryFlipAndTruncation(t *testing.T) {
	dir := t.TempDir()
	w := NewFileWriter(dir, Options{Clock: fixedClock})
	for i := range int64(3) {
		must(t, w.Scalar(i, "a", float64(i)))
	}
	must(t, w.Close())
	good, err := os.ReadFile(w.Path())
	must(t, err)
	count := func(b []byte) (n int, err error) {
		for _, e := range read("x", bytes.NewReader(b)) {
			if e != nil {
				return n, e
			}
			n++
		}
		return n, nil
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		var ce *CorruptError
		if n, err := count(bad); !errors.As(err, &ce) || n >= 4 || ce.Offset > int64(i) {
			t.Fatalf("flip at %d: %d events, %v", i, n, err)
		}
		if n, err := count(good[:i]); err != nil || n >= 4 {
			t.Fatalf("cut at %d: %d events, %v", i, n, err)
		}
	}
	if n, err := count(good); n != 4 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
}

func TestDamagedFileDoesNotHideTheNext(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, FilePrefix+"0000000001.h.1.1"), []byte("this is not an event file"), 0o666))
	w := NewFileWriter(dir, Options{})
	must(t, w.Scalar(7, "a", 1))
	must(t, w.Close())
	got, err := ReadScalars(dir)
	var ce *CorruptError
	if !errors.As(err, &ce) || got[7]["a"] != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	if got, err := ReadScalars(filepath.Join(dir, "missing")); err != nil || len(got) != 0 {
		t.Fatalf("missing directory: %v, %v", got, err)
	}
}

func TestFilesInOrderOfNumbers(t *testing.T) {
	dir := t.TempDir()
	want := []string{"9.h.100.1", "10.h.9.2", "10.h.9.10", "10.h.11.1"}
	for _, n := range []int{2, 0, 3, 1} {
		must(t, os.WriteFile(filepath.Join(dir, FilePrefix+want[n]), nil, 0o666))
	}
	got, err := Files(dir)
	must(t, err)
	for i := range got {
		if got[i] != filepath.Join(dir, FilePrefix+want[i]) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestHistogram(t *testing.T) {
	x, _ := tensor.FromSlice([]float32{0, 1, 1, -3, 2.5}, 5)
	v, err := Histogram("h", x)
	must(t, err)
	h := v.GetHisto()
	if h.Min != -3 || h.Max != 2.5 || h.Num != 5 || h.Sum != 1.5 || h.SumSquares != 17.25 {
		t.Fatalf("got %v", h)
	}
	// Each bucket counts the values from the previous limit up to, but not including, its own.
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOf(rapid.Float64Range(-1e21, 1e21)).Draw(rt, "data")
		x, _ := tensor.FromSlice(data, len(data))
		v, err := Histogram("h", x)
		must(t, err)
		h, lower := v.GetHisto(), math.Inf(-1)
		for i, limit := range h.BucketLimit {
			n := 0
			for _, d := range data {
				if d >= lower && (d < limit || i == len(h.BucketLimit)-1) {
					n++
				}
			}
			if float64(n) != h.Bucket[i] {
				rt.Fatalf("bucket [%v, %v): %v, want %d", lower, limit, h.Bucket[i], n)
			}
			lower = limit
		}
	})
	if _, err := Histogram("h", tensor.Scalar(math.NaN())); err == nil {
		t.Error("NaN is accepted")
	}
	if _, err := Histogram("h", &tensor.Tensor{DType: tensor.String, Shape: []int{0}}); err == nil {
		t.Error("strings are accepted")
	}
	limits := bucketLimits()
	if len(limits) != 1551 || limits[775] != 0 || limits[776] != 1e-12 {
		t.Errorf("%d limits, middle %v %v", len(limits), limits[775], limits[776])
	}
}

func TestConversionOfHalfTypes(t *testing.T) {
	half := &tensor.Tensor{DType: tensor.Float16, Shape: []int{4}, Bytes: []byte{0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x7c}}
	got, err := toFloats(half)
	must(t, err)
	if d := cmp.Diff([]float64{1, -2, math.Ldexp(1, -24), math.Inf(1)}, got); d != "" {
		t.Error(d)
	}
	got, err = toFloats(&tensor.Tensor{DType: tensor.BFloat16, Shape: []int{1}, Bytes: []byte{0xc0, 0x3f}})
	must(t, err)
	if got[0] != 1.5 {
		t.Errorf("got %v", got)
	}
}

func TestImage(t *testing.T) {
	nan := float32(math.NaN())
	x, _ := tensor.FromSlice([]float32{0, 1, 2, nan, -1, 1, 0, 0}, 2, 2, 2, 1)
	list, err := Image("in", x, 3)
	must(t, err)
	if len(list) != 2 || list[1].Tag != "in/image/1" {
		t.Fatalf("got %v", list)
	}
	for i, want := range [][]uint8{{0, 127, 255, 255}, {1, 255, 128, 128}} {
		img, err := png.Decode(bytes.NewReader(list[i].GetImage().EncodedImageString))
		must(t, err)
		for p, w := range want {
			if got := color.GrayModel.Convert(img.At(p%2, p/2)).(color.Gray).Y; got != w {
				t.Errorf("picture %d, pixel %d: %d, want %d", i, p, got, w)
			}
		}
	}
	rgb, _ := tensor.FromSlice([]uint8{1, 2, 3, 4, 5, 6}, 1, 2, 3)
	list, err = Image("rgb", rgb, 1)
	must(t, err)
	img, err := png.Decode(bytes.NewReader(list[0].GetImage().EncodedImageString))
	must(t, err)
	if r, g, b, _ := img.At(1, 0).RGBA(); list[0].Tag != "rgb/image" || r>>8 != 4 || g>>8 != 5 || b>>8 != 6 {
		t.Errorf("tag %s, pixel %d %d %d", list[0].Tag, r>>8, g>>8, b>>8)
	}
	if _, err := Image("bad", tensor.New(tensor.Uint8, 2, 2), 1); err == nil {
		t.Error("a matrix is accepted")
	}
}

func FuzzRead(f *testing.F) {
	m := atomicfile.NewMem()
	w := NewFileWriter("/d", Options{FS: m})
	must(f, w.Scalar(1, "a", 1))
	must(f, w.Add(SessionStart(1)))
	must(f, w.Close())
	b, err := atomicfile.ReadFile(m, w.Path())
	must(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Scalars{}
		for e, err := range read("x", bytes.NewReader(b)) {
			var ce *CorruptError
			if err != nil && !errors.As(err, &ce) {
				t.Fatal(err)
			}
			s.add(e)
		}
		_ = s.Tags()
	})
}

func ExampleFileWriter() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	w := NewFileWriter(dir, Options{})
	for step := range int64(3) {
		if err := w.Scalar(step, "loss", 1/float64(step+1)); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	scalars, err := ReadScalars(dir)
	fmt.Println(scalars[1]["loss"], err)
	// Output: 0.5 <nil>
}
