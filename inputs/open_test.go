package inputs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openIDs(t *testing.T, spec Spec, ic Context) [][]int64 {
	t.Helper()
	ic.Allocator = checked(t)
	ds, err := Open(context.Background(), spec, ic)
	if err != nil {
		t.Fatal(err)
	}
	return ids(t, ds)
}

// csvFiles writes n files of 10 rows; the label is the row's number.
func csvFiles(t *testing.T, n int) []string {
	t.Helper()
	var files []string
	for k := range n {
		body := ""
		for i := range 10 {
			body += fmt.Sprintf("%d\n", 10*k+i)
		}
		files = append(files, write(t, fmt.Sprintf("part%d.csv", k), []byte(body)))
	}
	return files
}

func TestPipelinesShareTheData(t *testing.T) {
	spec := Spec{Format: "csv", Files: csvFiles(t, 4), Columns: []ColumnSpec{{Name: "id", DType: "int64", Role: Label}}, BatchSize: 4, Shuffle: 100}
	for _, shard := range []string{"auto", "files", "rows", "off"} {
		for _, pipelines := range []int{1, 2, 3, 7} {
			spec.Shard = shard
			var all []int64
			for p := range pipelines {
				all = append(all, flat(openIDs(t, spec, Context{Mode: Train, Pipeline: p, NumPipelines: pipelines, Seed: 3}))...)
			}
			slices.Sort(all)
			want := 40
			if shard == "off" {
				want = 40 * pipelines
				all = slices.Compact(all)
			}
			if d := cmp.Diff(seq(40), all); d != "" {
				t.Errorf("shard %s, %d pipelines, %d rows: %s", shard, pipelines, want, d)
			}
		}
	}
}

func TestOpenBatchSize(t *testing.T) {
	spec := Spec{Format: "glyphs", Count: 20, BatchSize: 8}
	if b := openIDs(t, spec, Context{Mode: Eval, ReplicasInSync: 2}); len(b) != 5 || len(b[0]) != 4 {
		t.Errorf("batch of two replicas: %v", b)
	}
	if b := openIDs(t, spec, Context{Mode: Eval, GlobalBatch: 10}); len(b) != 2 || len(b[0]) != 10 {
		t.Errorf("global batch: %v", b)
	}
	if _, err := Open(context.Background(), spec, Context{ReplicasInSync: 3}); err == nil {
		t.Error("8 examples for 3 replicas: no error")
	}
	if _, err := Open(context.Background(), spec, Context{Pipeline: 2, NumPipelines: 2}); err == nil {
		t.Error("pipeline 2 of 2: no error")
	}
}

func TestOpenSteps(t *testing.T) {
	spec := Spec{Format: "csv", Files: csvFiles(t, 1), Columns: []ColumnSpec{{Name: "id", DType: "int64", Role: Label}}, BatchSize: 3,
		Skip: 1, Take: 4, Split: SplitSpec{Folds: 5, HeldOut: 1, Part: "train"}, Epochs: 2, DropRemainder: true}
	want := [][]int64{{2, 3, 4}, {5, 2, 3}}
	if d := cmp.Diff(want, openIDs(t, spec, Context{Mode: Train})); d != "" {
		t.Error(d)
	}
}

func TestOpenGlyphs(t *testing.T) {
	spec := Spec{Format: "glyphs", Count: 64, BatchSize: 64}
	train, eval := openIDs(t, spec, Context{Mode: Train, Seed: 7}), openIDs(t, spec, Context{Mode: Eval, Seed: 7})
	if slices.Equal(train[0], eval[0]) {
		t.Error("training and evaluation draw the same glyphs")
	}
	if predict, err := Open(context.Background(), spec, Context{Mode: Predict}); err != nil || len(predict.Schema().Columns()) != 1 {
		t.Errorf("to predict: %v, %v", predict, err)
	}
	spec.Count = 0
	ds, err := Open(context.Background(), spec, Context{Mode: Train, Pipeline: 1, NumPipelines: 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := drain(t, iterate(t, ds), ds.Schema(), 3); len(got) != 3 {
		t.Errorf("endless glyphs ended after %d batches", len(got))
	}
}

func TestPredictCSVWithoutLabels(t *testing.T) {
	columns := []ColumnSpec{{Name: "a"}, {Name: "y", Role: Label, Vocabulary: []string{"p", "q"}}, {Name: "b", Role: Ignore}, {Name: "c"}}
	for name, c := range map[string]struct {
		body   string
		header bool
	}{
		"with labels":            {"1,?,x,2\n", false},
		"without labels":         {"1,x,2\n", false},
		"header, without labels": {"c,a\n2,1\n", true},
	} {
		spec := Spec{Format: "csv", Files: []string{write(t, "p.csv", []byte(c.body))}, Columns: columns, Header: c.header, BatchSize: 2, Repeat: true, Shuffle: 9}
		ds, err := Open(context.Background(), spec, Context{Mode: Predict})
		if err != nil {
			t.Fatal(name, err)
		}
		a, b := column[float32](t, ds, "a"), column[float32](t, ds, "c")
		if !slices.Equal(a, []float32{1}) || !slices.Equal(b, []float32{2}) {
			t.Errorf("%s: got %v and %v", name, a, b)
		}
	}
}

// TestRestoreCSVWithoutLabels: the first row shows whether label columns are
// present, and a restored pass skips it.
func TestRestoreCSVWithoutLabels(t *testing.T) {
	columns := []ColumnSpec{{Name: "y", Role: Label}, {Name: "a"}}
	ds, err := CSV([]string{write(t, "p.csv", []byte("1\n2\n3\n"))}, CSVOptions{Columns: columns, Unlabeled: true, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	ds = Pipe(ds, Batch(1, false))
	it := iterate(t, ds)
	next(t, it, ds.Schema())
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	again := iterate(t, ds)
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, again, ds.Schema(), 9); len(got) != 2 {
		t.Errorf("got %d rows after the first of 3", len(got))
	}
}

// TestScaleLeavesIDs: scale and mean are for numbers, not for ids: words of a vocabulary, and integers of kind categorical.
func TestScaleLeavesIDs(t *testing.T) {
	spec := Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte("3,7,b,5\n"))}, BatchSize: 1, Scale: 2, Mean: []float64{1}, Columns: []ColumnSpec{
		{Name: "x"}, {Name: "shop", Kind: "categorical", DType: "int64"}, {Name: "town", Vocabulary: []string{"a", "b"}}, {Name: "n", DType: "int64"}}}
	ds := must[Dataset](t)(Open(t.Context(), spec, Context{Mode: Train}))
	if got := ds.Schema().String(); got != "x float32 feature, shop int64 feature, town int64 feature, n float32 feature" {
		t.Fatalf("got %s", got)
	}
	if x, shop, n := column[float32](t, ds, "x"), column[int64](t, ds, "shop"), column[float32](t, ds, "n"); x[0] != 0.5 || shop[0] != 7 || n[0] != 1.5 {
		t.Errorf("got %v, %v and %v", x, shop, n)
	}
}
