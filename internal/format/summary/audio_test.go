package summary

import (
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// TestAudio: samples have 16 bits, and samples beyond 1 are 1.
func TestAudio(t *testing.T) {
	in, err := tensor.FromSlice([]float32{0, .5, -1, 3, -2, 1}, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Audio("a", in, 8000, 2)
	if err != nil || len(all) != 2 || all[1].GetTag() != "a/audio/1" {
		t.Fatalf("got %v, %v", all, err)
	}
	const want = "RIFF\x28\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x04\x00\x00\x00\x00\x80\xff\x7f"
	if got := string(all[1].GetAudio().GetEncodedAudioString()); got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	for _, bad := range []*tensor.Tensor{tensor.New(tensor.Float32, 2), tensor.New(tensor.Float64, 1, 2), tensor.New(tensor.Float32, 1, 1, 1<<16)} {
		if _, err := Audio("a", bad, 8000, 2); err == nil {
			t.Errorf("%v of shape %v is audio", bad.DType, bad.Shape)
		}
	}
}
