package columngraph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// emitParsed emits columns over serialized examples.
func emitParsed(t *testing.T, c feature.Columns) (*graph.Builder, *feature.Plan, *Emission) {
	t.Helper()
	plan, err := feature.New(c)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := plan.ExampleSpecs()
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, err := Parse(b, b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()}), specs)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	return b, plan, e
}

// TestEmitted: every output exists with its type and shape, and the graph is valid.
func TestEmitted(t *testing.T) {
	columns := manyColumns()
	columns.Dense[0] = &feature.Numeric{Key: "x", Shape: []int{2}, Default: []float32{9}, Normalizer: feature.Normalizer{Scale: 2, Log: true, Mean: []float32{1}, Std: []float32{2, 3}}}
	columns.Linear = append(columns.Linear, &feature.Numeric{Key: "image", Shape: []int{2, 3}}, &feature.Identity{Key: "levels", Size: 3, Default: new(int)}, &feature.Vocabulary{Key: "numbers", Ints: []int64{4, 2}, OOVBuckets: 2})
	b, plan, e := emitParsed(t, columns)
	if err := graph.Validate(b.Graph); err != nil {
		t.Error(err)
	}
	def, err := graphdef.Marshal(b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graphdef.Unmarshal(def); err != nil {
		t.Error(err)
	}
	made := madeColumns(t, plan)
	for _, o := range plan.Outputs() {
		got, want := e.Outputs[o.Name], made[o.Name]
		if !want.Ragged {
			checkType(t, o.Name, got.Dense, graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(want.Shape...)})
			continue
		}
		checkType(t, o.Name, got.Values, graph.Type{DType: want.DType, Shape: vector})
		checkType(t, o.Name+" offsets", got.Offsets, graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: 1, Const: 1}}}})
	}
	if len(e.Outputs) != len(plan.Outputs()) || len(e.Init) != 2 || len(e.Assets) != 0 {
		t.Errorf("%d outputs, %d initialisers, %d assets: expected %d, one for each of 2 vocabularies, none", len(e.Outputs), len(e.Init), len(e.Assets), len(plan.Outputs()))
	}
}

// madeColumns returns the columns of the transformed records, by name.
func madeColumns(t *testing.T, plan *feature.Plan) map[string]inputs.Column {
	t.Helper()
	in, err := inputs.NewSchema(inputs.Column{Name: "words", DType: tensor.String, Ragged: true}, inputs.Column{Name: "weights", DType: tensor.Float32, Ragged: true},
		inputs.Column{Name: "word", DType: tensor.String}, inputs.Column{Name: "ids", DType: tensor.Int32}, inputs.Column{Name: "x", DType: tensor.Float64, Shape: []int{2}},
		inputs.Column{Name: "image", DType: tensor.Float32, Shape: []int{2, 3}}, inputs.Column{Name: "levels", DType: tensor.Int64}, inputs.Column{Name: "numbers", DType: tensor.Int64})
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Mapper().Schema(in)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]inputs.Column{}
	for _, c := range out.Columns() {
		made[c.Name] = c
	}
	return made
}

func checkType(t *testing.T, name string, got graph.Output, want graph.Type) {
	t.Helper()
	if !got.Valid() {
		t.Errorf("%s: no output", name)
	} else if diff := cmp.Diff(want, got.Type()); diff != "" {
		t.Errorf("%s: type differs (-want +got):\n%s", name, diff)
	}
}

// TestEmittedAssets: equal files become one asset, other files have their own names.
func TestEmittedAssets(t *testing.T) {
	dir := t.TempDir()
	file := func(folder, content string) string {
		path := filepath.Join(dir, folder, "words.txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := file("1", "a\r\nb\nc")
	_, _, e := emitParsed(t, feature.Columns{Linear: []feature.Column{&feature.VocabularyFile{Key: "u", File: one}, &feature.VocabularyFile{Key: "v", File: one, OOVBuckets: 3},
		&feature.VocabularyFile{Key: "w", File: file("2", "x\n")}, &feature.VocabularyFile{Key: "n", File: file("3", "07\n-1\n"), DType: tensor.Int64}, &feature.VocabularyFile{Key: "y", File: one, Size: 2}}})
	got := map[string]string{}
	for _, a := range e.Assets {
		got[a.Name] = string(a.Content)
		value := a.Tensor.Node.Attrs["value"].(*tensor.Tensor)
		if len(value.Shape) != 0 || string(value.Strings[0]) != a.Name {
			t.Errorf("asset %s: constant %v %q", a.Name, value.Shape, value.Strings)
		}
	}
	want := map[string]string{"words.txt": "7\n-1\n", "words_1.txt": "a\nb\nc\n", "words_2.txt": "x\n", "words_3.txt": "a\nb\n"}
	if diff := cmp.Diff(want, got); diff != "" || len(e.Init) != 5 {
		t.Errorf("%d initialisers; assets differ (-want +got):\n%s", len(e.Init), diff)
	}
}

// TestEmitKeeps: kept features are unchanged.
func TestEmitKeeps(t *testing.T) {
	plan, err := feature.New(feature.Columns{Dense: []feature.Column{&feature.Numeric{Key: "x"}}, Keep: []string{"image", "word", "absent"}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	raw, feeds, err := Placeholders(b, []inputs.Column{{Name: "x", DType: tensor.Int16}, {Name: "image", DType: tensor.Uint8, Shape: []int{2, 2}}, {Name: "word", DType: tensor.String, Ragged: true}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	if e.Outputs["image"].Dense != feeds["image"] || !e.Outputs["word"].Offsets.Valid() || len(e.Outputs) != 3 {
		t.Errorf("got %v", e.Outputs)
	}
	checkType(t, "image", feeds["image"], graph.Type{DType: tensor.Uint8, Shape: graph.BatchOf(2, 2)})
	checkType(t, "word", feeds["word"], graph.Type{DType: tensor.String, Shape: graph.Shape{Dims: []graph.Dim{graph.Batch, graph.Unknown}}})
}

func TestEmitRefuses(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	input := func(d tensor.DType, s graph.Shape) Raw {
		return Raw{Dense: b.Placeholder("raw", graph.Type{DType: d, Shape: s})}
	}
	sparse := Raw{Sparse: &SparseTensor{Indices: input(tensor.Int64, grid).Dense, Values: input(tensor.Float32, vector).Dense, DenseShape: input(tensor.Int64, graph.ShapeOf(2)).Dense}}
	x := &feature.Numeric{Key: "x", Shape: []int{2}}
	custom := &feature.Numeric{Key: "x", Shape: []int{2}, Normalizer: feature.Normalizer{Name: "twice", Func: func(x []float32) {}}}
	for want, c := range map[string]struct {
		column feature.Column
		raw    map[string]Raw
	}{
		`feature "x" is missing`:                               {x, nil},
		`feature "x": expected a dense tensor or a sparse`:     {x, map[string]Raw{"x": {}}},
		`feature "x": its sparse tensor lacks`:                 {x, map[string]Raw{"x": {Sparse: &SparseTensor{}}}},
		`expected shape [2], the data has x float32[3]`:        {x, map[string]Raw{"x": input(tensor.Float32, graph.BatchOf(3))}},
		`expected shape [2], the data has x float32[...]`:      {x, map[string]Raw{"x": sparse}},
		`expected numbers, the data has x string`:              {x, map[string]Raw{"x": input(tensor.String, graph.BatchOf(2))}},
		`expected integers, the data has i float32`:            {&feature.Identity{Key: "i", Size: 3}, map[string]Raw{"i": input(tensor.Float32, graph.BatchOf(2))}},
		`it has shape <unknown rank>: expected [B]`:            {x, map[string]Raw{"x": input(tensor.Float32, graph.Shape{UnknownRank: true})}},
		`it has shape [B,?,2]`:                                 {x, map[string]Raw{"x": input(tensor.Float32, graph.Shape{Dims: []graph.Dim{graph.Batch, graph.Unknown, graph.Fixed(2)}})}},
		`list its values in a feature.Vocabulary, or map "s"`:  {&feature.Indicator{Of: letters{}}, map[string]Raw{"s": input(tensor.String, graph.BatchOf())}},
		`expected one of package feature itself`:               {struct{ *feature.Numeric }{x}, map[string]Raw{"x": input(tensor.Float32, graph.BatchOf(2))}},
		`column "x": normalizer func "twice" is a function of`: {custom, map[string]Raw{"x": input(tensor.Float32, graph.BatchOf(2))}},
	} {
		plan, err := feature.New(feature.Columns{Dense: []feature.Column{dense(c.column)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Emit(plan, graph.NewBuilder(graph.New()), c.raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
	}
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

// dense returns the column itself, or counts of it.
func dense(c feature.Column) feature.Column {
	if cat, ok := c.(feature.Categorical); ok {
		return &feature.Indicator{Of: cat}
	}
	return c
}

// grid is a shape with two unknown dimensions.
var grid = graph.Shape{Dims: []graph.Dim{graph.Unknown, graph.Unknown}}

// letters is a user's Mapping.
type letters struct{}

func (letters) Name() string                    { return "letters" }
func (letters) String() string                  { return "letters" }
func (letters) Buckets() int                    { return 3 }
func (letters) Feature() (string, tensor.DType) { return "s", tensor.String }
func (letters) ID(string) (int, error)          { return 0, nil }
