package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// TestColumnsAsOperations runs feature columns as operations in TensorFlow, on serialized
// examples, dense features and padded features. The results must equal Transform's bit for bit.
func TestColumnsAsOperations(t *testing.T) {
	py := peers(t)
	var dirs []string
	for _, c := range []columnsExport{{ragged: true, parse: true}, {}, {ragged: true, plain: true}} {
		dir := t.TempDir()
		plan, err := feature.New(exportedColumns(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, plan, dir)
		dirs = append(dirs, dir)
	}
	py.run(t, "columns_export.py", dirs...)
}

// columnsExport is a way to feed exported columns.
type columnsExport struct {
	ragged bool // features have any number of values; otherwise two
	plain  bool // ragged features, without padding values
	parse  bool // from serialized examples; otherwise from placeholders
}

// exportFiles is manifest.json, which columns_export.py runs.
type exportFiles struct {
	Init    []string          `json:"init"`
	Assets  map[string]string `json:"assets"` // files by the tensors with their names
	Batches []string          `json:"batches"`
	Refused map[string]string `json:"refused"` // batches that must fail, with a part of the error
}

// write writes the graph, and batches with the expected results.
func (c columnsExport) write(t *testing.T, plan *feature.Plan, dir string) {
	t.Helper()
	g := graph.New()
	b := graph.NewBuilder(g)
	raw, feeds := c.raw(t, b, plan)
	e, err := columngraph.Emit(plan, b, raw)
	if err != nil {
		t.Fatal(err)
	}
	def, err := graphdef.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "graph.pb"), def)
	files := exportFiles{Assets: map[string]string{}, Refused: map[string]string{}}
	for _, n := range e.Init {
		files.Init = append(files.Init, n.Name)
	}
	for i, a := range e.Assets {
		path := filepath.Join(dir, fmt.Sprintf("asset%d", i))
		write(t, path, a.Content)
		files.Assets[a.Tensor.String()] = path
	}
	for _, rows := range []int{3000, 1, 0} {
		name := fmt.Sprintf("batch%d", rows)
		d := drawFeatures(rows, c)
		save(t, filepath.Join(dir, name, "feeds"), c.fed(t, d, feeds))
		save(t, filepath.Join(dir, name, "want"), wanted(t, plan, d, e))
		files.Batches = append(files.Batches, name)
	}
	if c.parse {
		for name, message := range map[string]string{"i1": "expected ids below 7", "v0": "expected a weight for each id"} {
			save(t, filepath.Join(dir, name, "feeds"), c.fed(t, spoiled(c, name), feeds))
			files.Refused[name] = message
		}
	}
	manifest, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "manifest.json"), manifest)
}

// spoiled are rows, one of which has an additional value for a feature that cannot be an
// id.
func spoiled(c columnsExport, name string) []exportFeature {
	d := drawFeatures(20, c)
	for _, f := range d {
		switch {
		case f.name != name:
		case f.ints != nil:
			f.ints[7] = append(f.ints[7], 7)
		default:
			f.floats[7] = append(f.floats[7], 7)
		}
	}
	return d
}

// raw adds the raw features; feeds are the placeholders by column, "" for examples.
func (c columnsExport) raw(t *testing.T, b *graph.Builder, plan *feature.Plan) (map[string]columngraph.Raw, map[string]graph.Output) {
	t.Helper()
	if c.parse {
		specs, err := plan.ExampleSpecs()
		if err != nil {
			t.Fatal(err)
		}
		x := b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
		raw, err := columngraph.Parse(b, x, specs)
		if err != nil {
			t.Fatal(err)
		}
		return raw, map[string]graph.Output{"": x}
	}
	s, err := inputs.SchemaFromArrow(exportRecord(drawFeatures(1, c)).Schema())
	if err != nil {
		t.Fatal(err)
	}
	raw, feeds, err := columngraph.Placeholders(b, s.Columns())
	if err != nil {
		t.Fatal(err)
	}
	return raw, feeds
}

// fed are the tensors for the placeholders.
func (c columnsExport) fed(t *testing.T, d []exportFeature, feeds map[string]graph.Output) map[string]*tensor.Tensor {
	t.Helper()
	out := map[string]*tensor.Tensor{}
	if c.parse {
		x := tensor.New(tensor.String, d[0].rows())
		for row := range x.Strings {
			x.Strings[row] = example(t, d, row)
		}
		out[feeds[""].String()] = x
		return out
	}
	for _, f := range d {
		out[feeds[f.name].String()] = f.padded()
	}
	return out
}

// example is a row as a serialized example. It leaves out features without values, and features that have their default.
func example(t *testing.T, d []exportFeature, row int) []byte {
	t.Helper()
	all := map[string]*example_protos_go_proto.Feature{}
	for _, f := range d {
		if f.size(row) > 0 && !(f.name == "y" && f.floats[row][0] == exportDefault) {
			all[f.name] = f.proto(row)
		}
	}
	b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: all}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wanted is Transform's result, by the tensors of the emission.
func wanted(t *testing.T, plan *feature.Plan, d []exportFeature, e *columngraph.Emission) map[string]*tensor.Tensor {
	t.Helper()
	rec, err := plan.Apply(t.Context(), exportRecord(d))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	s, err := inputs.SchemaFromArrow(rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	columns, err := inputs.Tensors(rec, s)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*tensor.Tensor{}
	for _, c := range columns {
		to, ok := e.Outputs[c.Name]
		switch {
		case !ok:
			t.Errorf("output %s is not emitted", c.Name)
		case c.Offsets == nil:
			out[to.Dense.String()] = c.Tensor.Clone()
		default:
			offsets := tensor.New(tensor.Int64, len(c.Offsets))
			for i, o := range c.Offsets {
				tensor.Values[int64](offsets)[i] = int64(o)
			}
			out[to.Values.String()], out[to.Offsets.String()] = c.Tensor.Clone(), offsets
		}
	}
	if len(columns) != len(e.Outputs) {
		t.Errorf("%d outputs are emitted, Transform makes %d", len(e.Outputs), len(columns))
	}
	return out
}

// exportedColumns has a column of every kind and setting for the features of drawFeatures.
func exportedColumns(t *testing.T, dir string) feature.Columns {
	t.Helper()
	file := filepath.Join(dir, "words of a file.txt")
	if err := os.WriteFile(file, []byte("the\na\r\n\xff\xfe\nzebra\nlast"), 0o644); err != nil {
		t.Fatal(err)
	}
	numbers := filepath.Join(dir, "numbers.txt")
	if err := os.WriteFile(numbers, []byte("3\n-7\n1000000007\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one, two := 1, 2
	x := &feature.Numeric{Key: "x", Shape: []int{3}, Normalizer: feature.Normalizer{Scale: 3, Mean: []float32{0.1, 0.2, -0.3}, Std: []float32{0.7, 1.1, 3}}}
	y := &feature.Numeric{Key: "y", Default: []float32{exportDefault}, Normalizer: feature.Normalizer{Log: true, Mean: []float32{0.3}, Std: []float32{1.7}}}
	ages := &feature.Bucketized{Of: x, Boundaries: []float64{-0.5, 0, 0.1, 0.7}}
	voc := &feature.Vocabulary{Key: "w1", Values: []string{"the", "zebra", "\xff\xfe"}}
	hash := &feature.HashBucket{Key: "w0", Size: 1000003}
	ints := &feature.HashBucket{Key: "n0", Size: 1000003, DType: tensor.Int64}
	oov := &feature.Vocabulary{Key: "w2", Values: []string{"a", "the"}, OOVBuckets: 5}
	level := &feature.Identity{Key: "i1", Size: 7}
	levels := &feature.Identity{Key: "i0", Size: 7, Default: &two}
	heavy := &feature.Weighted{Of: voc, WeightKey: "v1"}
	return feature.Columns{
		Linear: []feature.Column{x, y, ages, hash, ints, voc, oov, &feature.Vocabulary{Key: "w3", Values: []string{"the", "a"}, Default: &one},
			&feature.Vocabulary{Key: "n1", Ints: []int64{-7, 3}}, &feature.Vocabulary{Key: "n2", Ints: []int64{3, 4, -7}, OOVBuckets: 3},
			&feature.VocabularyFile{Key: "w4", File: file}, &feature.VocabularyFile{Key: "w5", File: file, Size: 3, OOVBuckets: 4},
			&feature.VocabularyFile{Key: "n3", File: numbers, DType: tensor.Int32}, &feature.VocabularyFile{Key: "n4", File: numbers, DType: tensor.Int64, OOVBuckets: 2},
			level, levels, &feature.Weighted{Of: hash, WeightKey: "v0"}, &feature.Crossed{Of: []feature.Column{feature.Key("w0"), level}, Size: 1 << 30},
			&feature.Crossed{Of: []feature.Column{ages, feature.Key("w2"), voc}, Size: 1 << 20, HashKey: 77}},
		Dense: []feature.Column{x, y, ages, &feature.Indicator{Of: oov}, &feature.Indicator{Of: heavy}, &feature.Indicator{Of: level},
			&feature.Embedding{Of: heavy, Dimension: 2}, &feature.Embedding{Of: &feature.Weighted{Of: hash, WeightKey: "v0"}, Dimension: 2, Combiner: feature.SqrtN},
			&feature.Embedding{Of: &feature.Crossed{Of: []feature.Column{level, levels, oov}, Size: 1000}, Dimension: 3}},
		Sequence: []feature.Column{&feature.Embedding{Of: &feature.Sequence{Of: voc}, Dimension: 3}, &feature.Embedding{Of: &feature.Sequence{Of: ints}, Dimension: 3},
			&feature.Indicator{Of: &feature.Sequence{Of: level}}, &feature.Embedding{Of: &feature.Sequence{Of: levels}, Dimension: 2},
			&feature.SequenceNumeric{Key: "s0", Shape: []int{2}, Default: 0.25, Normalizer: feature.Normalizer{Mean: []float32{1, 2}, Std: []float32{3, 0.3}}},
			&feature.SequenceNumeric{Key: "s1", Normalizer: feature.Normalizer{Scale: 7}}},
	}
}

// exportRecord converts features to a record.
func exportRecord(d []exportFeature) arrow.Record {
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, f := range d {
		a := f.array()
		fields, arrays = append(fields, arrow.Field{Name: f.name, Type: a.DataType()}), append(arrays, a)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(d[0].rows()))
}
