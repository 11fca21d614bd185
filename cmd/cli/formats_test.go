package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// listConfig trains a linear model whose columns have lists as values.
const listConfig = `
seed: 7
feature_columns:
  - {name: tags, type: hash_bucket, key: tags, buckets: 20}
  - {name: places, type: identity, key: places, buckets: 3}
  - {name: codes, type: vocabulary, key: codes, vocabulary: ["1", "2", "300"], dtype: int64}
model: {name: linear_classifier, params: {feature_columns: [tags, places, codes]}}
train:
  input: &input
    columns:
      - {name: tags, dtype: string, ragged: true}
      - {name: places, ragged: true, vocabulary: [north, south, west]}
      - {name: codes, dtype: int64, ragged: true}
      - {name: rich, role: label, dtype: int64}
    batch_size: 4
  epochs: 3
eval:
  input: *input
run: {save_checkpoints_steps: 10, log_step_count_steps: 10}
`

// listRow is a row of the data; nil lists are left out of the file.
type listRow struct {
	Tags   []string `json:"tags,omitempty"`
	Places []string `json:"places,omitempty"`
	Codes  []int64  `json:"codes,omitempty"`
	Rich   int64    `json:"rich"`
}

var listRows = []listRow{
	{[]string{"a", "b"}, []string{"north"}, []int64{1}, 0}, {[]string{"c"}, []string{"south", "west"}, []int64{2, 300}, 1},
	{nil, []string{"west"}, nil, 1}, {[]string{"a", "a", "d"}, nil, []int64{1, 1, 2}, 0},
	{[]string{"é", ""}, []string{"north", "south", "west"}, []int64{300}, 1}, {nil, nil, nil, 0}, {[]string{"b"}, []string{"south"}, []int64{2}, 1},
}

// writeLists writes the rows in every format that has lists and returns the files by format.
func writeLists(t *testing.T) map[string]string {
	t.Helper()
	var lines, records []byte
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}, {Name: "places", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "codes", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}, {Name: "rich", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, r := range listRows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
		features := map[string]*example.Feature{"rich": int64s([]int64{r.Rich})}
		appendStrings(b.Field(0).(*array.ListBuilder), r.Tags)
		appendStrings(b.Field(1).(*array.ListBuilder), r.Places)
		codes := b.Field(2).(*array.ListBuilder)
		codes.Append(r.Codes != nil)
		codes.ValueBuilder().(*array.Int64Builder).AppendValues(r.Codes, nil)
		b.Field(3).(*array.Int64Builder).Append(r.Rich)
		if r.Tags != nil {
			features["tags"] = byteStrings(r.Tags)
		}
		if r.Places != nil {
			features["places"] = byteStrings(r.Places)
		}
		if r.Codes != nil {
			features["codes"] = int64s(r.Codes)
		}
		message, err := proto.Marshal(&example.Example{Features: &example.Features{Feature: features}})
		if err != nil {
			t.Fatal(err)
		}
		records = tfrecord.Append(records, message)
	}
	rec := b.NewRecord()
	defer rec.Release()
	dir, files := t.TempDir(), map[string]string{}
	for format, data := range map[string][]byte{"jsonl": lines, "tfrecord": records, "arrow": arrowFile(t, rec), "parquet": parquetFile(t, rec)} {
		files[format] = filepath.Join(dir, "data."+format)
		if err := os.WriteFile(files[format], data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func int64s(v []int64) *example.Feature {
	return &example.Feature{Kind: &example.Feature_Int64List{Int64List: &example.Int64List{Value: v}}}
}

func byteStrings(v []string) *example.Feature {
	list := &example.BytesList{}
	for _, s := range v {
		list.Value = append(list.Value, []byte(s))
	}
	return &example.Feature{Kind: &example.Feature_BytesList{BytesList: list}}
}

func appendStrings(b *array.ListBuilder, v []string) {
	b.Append(v != nil)
	for _, s := range v {
		b.ValueBuilder().(*array.StringBuilder).Append(s)
	}
}

func arrowFile(t *testing.T, rec arrow.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func parquetFile(t *testing.T, rec arrow.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &out, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// commandOutput runs a command line and returns its standard output.
func commandOutput(t *testing.T, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	if code := Run(context.Background(), args, &out, &log); code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, log.String())
	}
	return out.String()
}

// TestListsOfEveryFormat: the same rows in a file of any format train the same
// model, with only the config changed.
func TestListsOfEveryFormat(t *testing.T) {
	config := filepath.Join(t.TempDir(), "lists.yaml")
	if err := os.WriteFile(config, []byte(listConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	type result struct {
		Loss    float64
		Metrics map[string]float64
	}
	results, shown := map[string]result{}, map[string]string{}
	for format, file := range writeLists(t) {
		args := []string{"--config", config}
		for _, s := range []string{"model_dir=" + t.TempDir(), "train.input.format=" + format, "train.input.files=" + file, "eval.input.format=" + format, "eval.input.files=" + file} {
			args = append(args, "--set", s)
		}
		shown[format] = commandOutput(t, append([]string{"inspect", "data", "--rows", "9"}, args...)...)
		lines := strings.Split(strings.TrimSpace(commandOutput(t, append([]string{"train", "--json"}, args...)...)), "\n")
		var r result
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
			t.Fatal(err)
		}
		results[format] = r
		if predicted := commandOutput(t, append([]string{"predict", "--input", file}, args...)...); strings.Count(predicted, "\n") != len(listRows) {
			t.Errorf("%s: predictions:\n%s", format, predicted)
		}
	}
	if r := results["arrow"]; r.Loss == 0 || r.Metrics["auc"] == 0 {
		t.Fatalf("arrow: %v", r)
	}
	for format, r := range results {
		if d := cmp.Diff(results["arrow"], r); d != "" {
			t.Errorf("training on %s (-arrow +%s):\n%s", format, format, d)
		}
		if d := cmp.Diff(shown["arrow"], shown[format]); d != "" {
			t.Errorf("rows of %s (-arrow +%s):\n%s", format, format, d)
		}
	}
	want := fmt.Sprintln(`row 4: tags=["é",""] places=[0,1,2] codes=[300] rich=1`)
	if s := shown["tfrecord"]; !strings.Contains(s, want) || !strings.Contains(s, "tags    feature  string  ragged") {
		t.Errorf("inspect data shows\n%s", s)
	}
}
