package inputs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// idFiles writes files of consecutive numbers, rows in each, and returns their names.
func idFiles(t *testing.T, dir, prefix string, first, files, rows int) []string {
	t.Helper()
	var names []string
	for i := range files {
		var text strings.Builder
		for k := range rows {
			fmt.Fprintln(&text, first+i*rows+k)
		}
		name := filepath.Join(dir, fmt.Sprintf("%s%d.csv", prefix, i))
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// specOf parses an input section in which DIR stands for a folder.
func specOf(t *testing.T, dir, text string) Spec {
	t.Helper()
	s := Spec{Delimiter: ",", Shard: "auto", BatchSize: 4}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "DIR", dir)), &s); err != nil {
		t.Fatal(err)
	}
	s.Complete()
	return s
}

func TestSpecOfSeveral(t *testing.T) {
	dir := t.TempDir()
	idFiles(t, dir, "a", 0, 1, 3)
	idFiles(t, dir, "b", 10, 1, 2)
	const a = `{format: csv, files: [DIR/a0.csv], columns: [{name: id, dtype: int64, role: label}]`
	const b = `{format: csv, files: [DIR/b0.csv], columns: [{name: id, dtype: int64, role: label}]`
	const y = `{format: csv, files: [DIR/b0.csv], columns: [{name: y, dtype: int64}]}`
	for _, c := range []struct {
		spec string
		want []int64
	}{
		{`concat: [` + a + `}, ` + b + `}]`, []int64{0, 1, 2, 10, 11}},
		{`interleave: [` + a + `}, ` + b + `}]`, []int64{0, 10, 1, 11, 2}},
		{"interleave: [" + a + "}, " + b + "}]\nblock: 2\ncycle: 1", []int64{0, 1, 2, 10, 11}},
		{"mix: [" + a + "}, " + b + "}]\nweights: [1, 1000000]", []int64{10, 11, 0, 1, 2}},
		{`zip: [` + a + `}, ` + y + `]`, []int64{0, 1}},
		{`concat: [` + a + `, skip: 1}, {interleave: [` + a + `}, ` + b + `}], take: 3}]`, []int64{1, 2, 0, 10, 1}},
		{"concat: [" + a + "}, " + a + ", transforms: [{kind: take, rows: 2}, {kind: skip, rows: 1}]}]\ntransforms: [{kind: dedupe}]", []int64{0, 1, 2}},
		{"concat: [" + a + "}]\ntransforms: [{kind: window, size: 2, shift: 1}, {kind: unbatch}]", []int64{0, 1, 1, 2}},
		{"concat: [" + a + "}]\ntransforms: [{kind: window, size: 2, shift: 1, labels: last}, {kind: cache}, {kind: snapshot, dir: DIR/s}]", []int64{1, 2}},
		{"concat: [" + a + "}]\ntransforms: [{kind: rename, column: id, to: n}, {kind: project, columns: [n]}, {kind: shuffle, size: 1}]", []int64{0, 1, 2}},
		{"concat: [" + b + "}, " + a + "}]\ntransforms: [{kind: skip, rows: 2}, {kind: resample, column: id, target: [1, 0, 1], initial: [1, 1, 1]}]", []int64{0, 2}},
	} {
		spec := specOf(t, dir, c.spec)
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		ds, err := Open(t.Context(), spec, Context{Mode: Train})
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if d := cmp.Diff(c.want, flat(ids(t, ds))); d != "" {
			t.Errorf("%s: %s", c.spec, d)
		}
		checkStates(t, ds, drain(t, iterate(t, ds), ds.Schema(), 100))
	}
}

// TestSpecOfSeveralIsShared: the pipelines together get each row once, shared by files if possible.
func TestSpecOfSeveralIsShared(t *testing.T) {
	dir := t.TempDir()
	idFiles(t, dir, "a", 0, 4, 5)
	idFiles(t, dir, "b", 100, 3, 7)
	var want []int64
	for i := range int64(20) {
		want = append(want, i)
	}
	for i := range int64(21) {
		want = append(want, 100+i)
	}
	const both = "[{format: csv, files: [DIR/a*.csv], columns: [{name: id, dtype: int64, role: label}]}, {format: csv, files: [DIR/b*.csv], columns: [{name: id, dtype: int64, role: label}]}]"
	for text, byFile := range map[string]bool{
		"concat: " + both: true, "mix: " + both: true, "interleave: " + both + "\nshard: rows": false,
		"concat: " + both + "\ntransforms: [{kind: dedupe}]": false, "concat: " + both + "\ntake: 1000": false,
	} {
		var got []int64
		for pipeline := range 3 {
			ds, err := Open(t.Context(), specOf(t, dir, text), Context{Mode: Eval, Pipeline: pipeline, NumPipelines: 3})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			share := flat(ids(t, ds))
			if mine := slices.Contains(share, int64(5*pipeline)) && slices.Contains(share, int64(5*pipeline+4)); mine != byFile {
				t.Errorf("%s: pipeline %d has %v", text, pipeline, share)
			}
			got = append(got, share...)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestPredictSeveral(t *testing.T) {
	dir := t.TempDir()
	idFiles(t, dir, "a", 0, 1, 3)
	spec := specOf(t, dir, `
zip:
  - {format: csv, files: [DIR/a0.csv], columns: [{name: x}]}
  - {format: csv, files: [DIR/missing.csv], columns: [{name: y, role: label}]}
transforms: [{kind: rename, column: y, to: z}, {kind: project, columns: [y, x]}, {kind: resample, column: y, target: [1]}, {kind: shuffle, size: 9}]
`)
	ds, err := Open(t.Context(), spec, Context{Mode: Predict})
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); got != "x float32 feature" {
		t.Errorf("got %s", got)
	}
}

func TestBucketSpec(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(name, []byte("{\"v\":[1],\"id\":0}\n{\"v\":[1,2,3],\"id\":1}\n{\"v\":[],\"id\":2}\n{\"v\":[1,2],\"id\":3}\n{\"v\":[4,4,4],\"id\":4}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const text = "format: jsonl\nfiles: [DIR/rows.jsonl]\ncolumns: [{name: v, ragged: true}, {name: id, dtype: int64, role: label}]\nbuckets: {column: v, boundaries: [3], batch_sizes: [4, 2]}"
	ds, err := Open(t.Context(), specOf(t, dir, text), Context{Mode: Train, ReplicasInSync: 2})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]int64{{1}, {0, 2}, {4}, {3}}, ids(t, ds)); d != "" {
		t.Error(d)
	}
	if _, err := Open(t.Context(), specOf(t, dir, text), Context{Mode: Train, ReplicasInSync: 4}); err == nil || !strings.Contains(err.Error(), "buckets.batch_sizes[1]: global batch size 2 is not divisible") {
		t.Errorf("got %v", err)
	}
}

func TestWrongSpecsOfSeveral(t *testing.T) {
	const a = `{format: csv, files: [a.csv], columns: [{name: id}]`
	for text, want := range map[string]string{
		"format: zip": "zip: got nothing, expected a list of inputs",
		"zip: [" + a + "}]\nconcat: [" + a + "}]":                                 "concat: got \"1 inputs\", expected none: the input's format is zip",
		"zip: [{files: [a.csv]}]":                                                 "zip[0].format",
		"zip: [" + a + ", batch_size: 3}]":                                        "zip[0].batch_size: got 3, expected none: set it on the whole input",
		"zip: [" + a + ", scale: 3}]":                                             "zip[0].scale",
		"zip: [{format: csv, files: [a.csv]}]":                                    "zip[0].columns",
		"zip: [" + a + "}]\nfiles: [b.csv]":                                       "files",
		"zip: [" + a + "}]\nweights: [1]":                                         "weights",
		"mix: [" + a + "}]\nweights: [1, 2]":                                      "expected one for each of the 1 inputs",
		"mix: [" + a + "}]\nweights: [0]":                                         "weights[0]: got 0, expected > 0",
		"concat: [{mix: [" + a + ", skip: -1}]}]":                                 "concat[0].mix[0].skip",
		"format: glyphs\ntransforms: [{kind: window}]":                            "transforms[0].size",
		"format: glyphs\ntransforms: [{kind: take, size: 3, rows: 1}]":            "transforms[0].size: got 3, expected none: kind take takes rows",
		"format: glyphs\ntransforms: [{kind: cache, size: 3}]":                    "kind cache takes no other key",
		"format: glyphs\ntransforms: [{kind: window, size: 3, labels: first}]":    "transforms[0].labels",
		"format: glyphs\nbuckets: {column: v, boundaries: [3], batch_sizes: [1]}": "buckets.batch_sizes",
		"format: glyphs\nbuckets: {boundaries: [3, 2], batch_sizes: [1, 1, 1]}":   "buckets.boundaries[1]",
		"format: glyphs\ntransforms: [{kind: take, rows: -3}]":                    "transforms[0].rows: got -3, expected > 0",
	} {
		err := specOf(t, "", text).Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %q", text, err, want)
		}
	}
	spec := specOf(t, "", "format: glyphs\ncount: 9\ntransforms: [{kind: take, rows: 3}, {kind: pad, column: image, length: 3}]")
	if _, err := Open(t.Context(), spec, Context{}); err == nil || !strings.Contains(err.Error(), "transforms[1]: pad: column image") {
		t.Errorf("got %v", err)
	}
}

func TestEndOfSeveral(t *testing.T) {
	for text, want := range map[string]bool{
		"zip: [{format: glyphs}, {format: glyphs, count: 3}]": true, "concat: [{format: glyphs}, {format: glyphs, count: 3}]": false,
		"mix: [{format: glyphs, count: 3, repeat: true}]": false, "mix: [{format: glyphs, take: 3}]": true, "format: csv": true, "format: csv\nrepeat: true": false,
	} {
		if got := specOf(t, "", text).Ends(); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

// A row left out of one part of a zip would shift the other parts: that is refused, also if predict.on_error asks for it.
func TestZipSkipsNoRows(t *testing.T) {
	dir := t.TempDir()
	idFiles(t, dir, "a", 0, 1, 3)
	idFiles(t, dir, "b", 10, 1, 3)
	const a = `{format: csv, files: [DIR/a0.csv], columns: [{name: id, dtype: int64, role: label}]}`
	const x = `{format: csv, files: [DIR/b0.csv], columns: [{name: x, dtype: int64}], on_error: skip}`
	for text, want := range map[string]string{
		`zip: [` + a + `, ` + x + `]`:             "zip[1].on_error",
		`zip: [{concat: [` + x + `]}, ` + a + `]`: "zip[0].on_error",
		`zip: [` + x + `]`:                        "",
		`concat: [` + x + `, ` + x + `]`:          "",
	} {
		_, err := Open(t.Context(), specOf(t, dir, text), Context{Mode: Predict})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, expected %q", text, err, want)
		}
	}
}
