package eager

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// TestSave: two tasks save their parts of the variables, a partitioned one among them, and one of them merges these.
func TestSave(t *testing.T) {
	fsys := atomicfile.NewMem()
	if err := fsys.Mkdir("d"); err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	s.refuse("no files may be written here", "SaveV2", nil, "d/a", []string{"x"}, []string{""}, []int64{1})
	s.env.Files = func(string) (atomicfile.FS, error) { return fsys, nil }
	s.env.Bundle = func(prefix string) (*bundle.Reader, error) { return bundle.Open(fsys, prefix) }

	s.run("SaveV2", nil, "d/t/a", []string{"x", "w"}, []string{"", "3 2 0,2:-"}, []int64{7}, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	s.run("SaveV2", nil, "d/t/b", []string{"w", "s"}, []string{"3 2 2,1:0,2", ""}, tensorOf([]float32{5, 6}, 1, 2), []string{"text"})
	s.run("MergeV2Checkpoints", nil, []string{"d/t/a", "d/t/b"}, "d/m")
	out, err := s.try("RestoreV2", graph.Attrs{"dtypes": []tensor.DType{tensor.Int64, tensor.Float32, tensor.String, tensor.Float32}},
		"d/m", []string{"x", "w", "s", "w"}, []string{"", "", "", "3 2 2,1:-"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"int64[1] 7", "float32[3 2] 1 2 3 4 5 6", `string[1] "text"`, "float32[1 2] 5 6"} {
		s.expect(out[i], want)
	}
	s.refuse("d/t/a.index", "MergeV2Checkpoints", nil, []string{"d/t/a"}, "d/n") // it was merged

	s.run("SaveV2", nil, "d/c", []string{"x"}, []string{""}, []int64{7})
	s.run("SaveV2", nil, "d/e", []string{"x"}, []string{""}, []int64{8})
	s.refuse("is in two of the bundles", "MergeV2Checkpoints", nil, []string{"d/c", "d/e"}, "d/n")
	s.refuse("is there twice", "MergeV2Checkpoints", nil, []string{"d/c", "d/c"}, "d/n")
	s.run("SaveV2", nil, "d/p", []string{"w"}, []string{"3 2 0,2:-"}, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	s.refuse("w", "MergeV2Checkpoints", nil, []string{"d/p"}, "d/n") // a part is missing
	for _, spec := range []string{"3", "3 2 0,2", "3 2 0,4:-", "3 2 -1,2:-", "x 2 0,2:-", "3 2 0,1:-"} {
		s.refuse("w", "SaveV2", nil, "d/q", []string{"w"}, []string{spec}, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	}
	s.refuse("expected 1 names", "SaveV2", nil, "d/q", []string{"x", "y"}, []string{""}, []int64{7})
}

func TestShardedNames(t *testing.T) {
	s := newSession(t)
	i := func(v int32) *tensor.Tensor { return tensor.Scalar(v) }
	s.expect(s.run("ShardedFilename", nil, "a/b", i(1), i(20)), `string[] "a/b-00001-of-00020"`)
	s.expect(s.run("ShardedFilespec", nil, "a/b", i(20)), `string[] "a/b-?????-of-00020"`)
	s.refuse("expected one string", "ShardedFilename", nil, []string{"a", "b"}, i(1), i(2))
}
