package window_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/window"
)

// TestChannelsFirst: NCHW attributes, explicit paddings too, have height and width at the end.
func TestChannelsFirst(t *testing.T) {
	n := &graph.Node{Op: "Conv2D", Attrs: graph.Attrs{"data_format": []byte("NCHW"), "padding": []byte("EXPLICIT"), "strides": []int64{1, 1, 2, 3},
		"dilations": []int64{1, 1, 2, 1}, "explicit_paddings": []int64{0, 0, 0, 0, 1, 2, 3, 4}}}
	a, err := window.Read(n)
	if err != nil || !a.First {
		t.Fatalf("got %+v, %v", a, err)
	}
	g, err := a.Conv2D([]int{5, 7, 8, 2}, []int{3, 2, 2, 6})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := window.Result(g), []int{5, (7 + 3 - 5 + 2) / 2, (8 + 7 - 2 + 3) / 3, 6}; !slices.Equal(got, want) || g.PadTop != 1 || g.PadLeft != 3 {
		t.Errorf("got %v of %+v, expected %v", got, g, want)
	}
	n.Attrs["strides"] = []int64{1, 2, 3, 1} // of channels last
	if _, err := window.Read(n); err == nil {
		t.Error("strides over the channels were read")
	}
}
