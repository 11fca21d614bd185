package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// TestSummaryWriters: steps write to one file until the writer is closed, and then to another one.
func TestSummaryWriters(t *testing.T) {
	s, dir := newSession(t), t.TempDir()
	s.env.Files = func(string) (atomicfile.FS, error) { return atomicfile.OS{}, nil }
	w := s.run("SummaryWriter", graph.Attrs{"shared_name": []byte("w")})
	s.refuse("not initialized", "FlushSummaryWriter", nil, w)
	open := func() {
		s.run("CreateSummaryFileWriter", nil, w, dir, Value{T: tensor.Scalar(int32(10))}, Value{T: tensor.Scalar(int32(1000))}, ".v2")
	}
	one := s.run("ScalarSummary", nil, "b", []float32{2})
	for i := range int64(2) {
		open()
		open()
		s.run("WriteScalarSummary", nil, w, i, "a", Value{T: tensor.Scalar(float32(i) + .5)})
		s.run("WriteRawProtoSummary", nil, w, i+10, one)
		s.run("WriteHistogramSummary", nil, w, i, "h", []float32{1, 2})
		s.run("WriteSummary", nil, w, i, []float32{1}, "t", "")
		s.run("CloseSummaryWriter", nil, w)
	}
	s.refuse("not initialized", "WriteScalarSummary", nil, w, int64(1), "a", []float32{1})
	files, err := summary.Files(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	var got []string
	for e, err := range summary.Read(dir) {
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range e.GetSummary().GetValue() {
			got = append(got, v.GetTag())
		}
	}
	if len(got) != 8 {
		t.Errorf("got the values %v", got)
	}
}

// TestSummaries: invalid summaries are refused.
func TestSummaries(t *testing.T) {
	s := newSession(t)
	s.refuse("not the same shape", "ScalarSummary", nil, "a", []float32{1, 2})
	s.refuse("not supported", "ScalarSummary", nil, "a", "text")
	s.refuse("4-D", "ImageSummary", nil, "a", []float32{1})
	s.refuse("sample rate above 0", "AudioSummaryV2", nil, "a", tensor.New(tensor.Float32, 1, 2, 1), Value{T: tensor.Scalar(float32(0))})
	s.refuse("could not parse", "MergeSummary", nil, "text")
	s.refuse("SummaryMetadata", "TensorSummaryV2", nil, "a", []float32{1}, "\xff")
}
