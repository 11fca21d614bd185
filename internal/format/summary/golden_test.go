package summary

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/goestimator/goestimator/tensor"
)

// The file was written by TensorFlow 2.15's v1.summary.FileWriter from the values
// below. Our values must be equal, and pictures equal pixel by pixel.
func TestTensorFlowGolden(t *testing.T) {
	list := events(t, "testdata/tensorflow-2.15")
	if len(list) != 4 || list[0].GetFileVersion() != fileVersion {
		t.Fatalf("got %v", list)
	}
	nan := float32(math.NaN())
	x, _ := tensor.FromSlice([]float64{0, 1, 1, -3, 2.5, 1e-13, 1e21, -7e-5, 100, 99.99, -1e-12}, 11)
	grey, _ := tensor.FromSlice([]float32{0, 1, 2, nan, -1, 1, 0, 0.5}, 2, 2, 2, 1)
	rgb, _ := tensor.FromSlice([]float32{-4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}, 1, 2, 2, 3)
	h, err := Histogram("h", x)
	must(t, err)
	empty, err := Histogram("empty", tensor.New(tensor.Float32, 0))
	must(t, err)
	greys, err := Image("in", grey, 3)
	must(t, err)
	rgbs, err := Image("rgb", rgb, 1)
	must(t, err)
	ours := append([]*Value{Scalar("loss", 0.25), h, empty}, append(greys, rgbs...)...)
	theirs := list[2].GetSummary().GetValue()
	for i, v := range ours {
		samePicture(t, v, theirs[i])
		if d := cmp.Diff(theirs[i], v, protocmp.Transform(), protocmp.IgnoreFields(&Value{}, "metadata")); d != "" {
			t.Errorf("%s: %s", v.Tag, d)
		}
	}
	note := Text("note", "hi")
	if d := cmp.Diff(theirs[6], note, protocmp.Transform(), protocmp.IgnoreFields(note.Metadata, "data_class")); d != "" {
		t.Error(d)
	}
	pair, _ := tensor.FromSlice([]int32{1, 2}, 2)
	tensor, err := Tensor("t", "", pair)
	must(t, err)
	if d := cmp.Diff(theirs[7], tensor, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	for i, e := range map[int]*Event{1: SessionStart(0), 3: SessionCheckpoint(3, "model.ckpt-3")} {
		if d := cmp.Diff(list[i], e, protocmp.Transform(), protocmp.IgnoreFields(e, "wall_time")); d != "" {
			t.Error(d)
		}
	}
}

// samePicture compares pixels, then blanks the PNGs, whose compression differs.
func samePicture(t *testing.T, a, b *Value) {
	t.Helper()
	if !strings.Contains(a.Tag, "/image") {
		return
	}
	p, err := png.Decode(bytes.NewReader(a.GetImage().EncodedImageString))
	must(t, err)
	q, err := png.Decode(bytes.NewReader(b.GetImage().EncodedImageString))
	must(t, err)
	if p.Bounds() != q.Bounds() {
		t.Fatalf("%s: size %v, want %v", a.Tag, p.Bounds(), q.Bounds())
	}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			if p.At(x, y) != q.At(x, y) {
				t.Errorf("%s: pixel %d, %d: %v, want %v", a.Tag, x, y, p.At(x, y), q.At(x, y))
			}
		}
	}
	a.GetImage().EncodedImageString, b.GetImage().EncodedImageString = nil, nil
}
