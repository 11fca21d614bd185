package eager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// TestSave: two tasks save their parts of the variables, including a partitioned one, and one task merges them.
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

// TestSaveV1: files of version 1 are written, and read by Restore and by RestoreV2, from several files, too.
func TestSaveV1(t *testing.T) {
	fsys := atomicfile.NewMem()
	s := newSession(t)
	s.refuse("no files may be written here", "Save", nil, "d/a", []string{"x"}, []int64{1})
	s.env.Files = func(string) (atomicfile.FS, error) { return fsys, nil }
	s.env.Bundle = func(prefix string) (*bundle.Reader, error) { return bundle.Open(fsys, prefix) }
	s.run("SaveSlices", nil, "d/v-0", []string{"x", "w"}, []string{"", "3 2 0,2:-"}, []int64{7}, tensorOf([]float32{1, 2, 3, 4}, 2, 2))
	s.run("SaveSlices", nil, "d/v-1", []string{"w"}, []string{"3 2 2,1:-"}, tensorOf([]float32{5, 6}, 1, 2))
	s.run("Save", nil, "d/u", []string{"s"}, []string{"text"})
	float := graph.Attrs{"dt": tensor.Float32}
	s.expect(s.run("Restore", float, "d/v-?", "w"), "float32[3 2] 1 2 3 4 5 6")
	s.expect(s.run("RestoreSlice", float, "d/v-?", "w", "3 2 1,2:1,1"), "float32[2 1] 4 6")
	s.expect(s.run("RestoreSlice", float, "d/v-?", "w", ""), "float32[3 2] 1 2 3 4 5 6")
	s.expect(s.run("Restore", graph.Attrs{"dt": tensor.String}, "d/u", "s"), `string[1] "text"`)
	s.expect(s.run("RestoreV2", graph.Attrs{"dtypes": []tensor.DType{tensor.Int64}}, "d/v-?", []string{"x"}, []string{""}), "int64[1] 7")
	s.refuse("Failed to find any matching files for d/none", "Restore", float, "d/none", "w")
	s.refuse(`Tensor name "z" not found in checkpoint files d/u`, "Restore", float, "d/u", "z")
	s.refuse("Expected to restore a tensor of type float, got a tensor of type string", "Restore", float, "d/u", "s")
	s.refuse("the slices cover 4 of 6", "Restore", float, "d/v-0", "w")
	s.refuse("full shape", "RestoreSlice", float, "d/v-?", "w", "4 2 -:-")
	s.refuse("expected 2 names", "Save", nil, "d/q", []string{"x"}, []int64{7}, []int64{8})
	s.refuse("Key x not found", "RestoreV2", graph.Attrs{"dtypes": []tensor.DType{tensor.Int64}}, "d/u", []string{"x"}, []string{""})
}

// TestFileURIs: "file://" and a host before a path are handled as in TensorFlow.
func TestFileURIs(t *testing.T) {
	fsys := atomicfile.NewMem()
	s := newSession(t)
	s.env.Files = func(path string) (atomicfile.FS, error) {
		if !strings.HasPrefix(path, "/d") {
			return nil, fmt.Errorf("asked for %q", path)
		}
		return fsys, nil
	}
	s.env.Bundle = func(prefix string) (*bundle.Reader, error) { return bundle.Open(fsys, prefix) }
	s.run("WriteFile", nil, "file:///d/a", "text")
	s.expect(s.run("ReadFile", nil, "/d/a"), `string[] "text"`)
	s.expect(s.run("ReadFile", nil, "file://host/d/a"), `string[] "text"`)
	s.expect(s.run("MatchingFiles", nil, []string{"file://host/d/*", "/d/*"}), `string[2] "/d/a" "file://host/d/a"`)
	s.run("SaveV2", nil, "file:///d/m", []string{"x"}, []string{""}, []int64{7})
	s.run("MergeV2Checkpoints", nil, []string{"file:///d/m"}, "file:///d/n")
	s.expect(s.run("RestoreV2", graph.Attrs{"dtypes": []tensor.DType{tensor.Int64}}, "file:///d/n", []string{"x"}, []string{""}), "int64[1] 7")
	s.run("Save", nil, "file:///d/v1", []string{"x"}, []int64{8})
	s.expect(s.run("Restore", graph.Attrs{"dt": tensor.Int64}, "file:///d/v1", "x"), "int64[1] 8")
	s.refuse(`asked for "file:/d/a"`, "ReadFile", nil, "file:/d/a")
	s.refuse(`asked for ""`, "ReadFile", nil, "file://")
}

func TestShardedNames(t *testing.T) {
	s := newSession(t)
	i := func(v int32) *tensor.Tensor { return tensor.Scalar(v) }
	s.expect(s.run("ShardedFilename", nil, "a/b", i(1), i(20)), `string[] "a/b-00001-of-00020"`)
	s.expect(s.run("ShardedFilespec", nil, "a/b", i(20)), `string[] "a/b-?????-of-00020"`)
	s.refuse("expected one string", "ShardedFilename", nil, []string{"a", "b"}, i(1), i(2))
}
