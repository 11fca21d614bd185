package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/testkit"
)

// silent returns a Damaged that does not log.
func silent() *Damaged { return &Damaged{Log: slog.New(slog.DiscardHandler)} }

// damagedCase is a file whose good rows have the ids 0 to 19.
type damagedCase struct {
	spec    Spec
	damaged int64
	first   string // part of the first error
}

// between returns rows 0 to 19, with bad[i] before row i.
func between(row string, bad map[int]string) string {
	var b strings.Builder
	for i := range 20 {
		b.WriteString(bad[i])
		fmt.Fprintf(&b, row, i)
	}
	return b.String() + bad[20]
}

// nullable returns a record with int64 "id" 0 to 19, and nulls before 3 and 11 and at the end.
func nullable(t testing.TB) arrow.Record {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil))
	defer b.Release()
	ids := b.Field(0).(*array.Int64Builder)
	for i := range 20 {
		if i == 3 || i == 11 {
			ids.AppendNull()
		}
		ids.Append(int64(i))
	}
	ids.AppendNull()
	rec := b.NewRecord()
	t.Cleanup(rec.Release)
	return rec
}

func damagedCases(t testing.TB) map[string]damagedCase {
	t.Helper()
	columns := []ColumnSpec{{Name: "id", DType: "int64"}, {Name: "s", Kind: "categorical", Default: "-"}}
	file := func(format, text string) Spec {
		return Spec{Format: format, Files: []string{write(t, "t."+format, []byte(text))}, Columns: slices.Clone(columns)}
	}
	header := file("csv", "s,id\n"+between("a,%d\n", map[int]string{0: "a\n", 7: "a,x\na,1,2\n"}))
	header.Header = true
	aligned := file("csv", between("%d  a\n", map[int]string{5: "1 \"a\n", 20: "x y"}))
	aligned.Delimiter = "whitespace"
	var examples []byte
	for i := range 20 {
		if i == 4 {
			examples = tfrecord.Append(examples, []byte("\xff\xff no example"))
			examples = tfrecord.Append(examples, serialized(t, map[string]any{"id": []int64{9}, "s": []string{"damaged"}}))
			examples = tfrecord.Append(examples, serialized(t, map[string]any{"id": []string{"word"}}))
		}
		examples = tfrecord.Append(examples, serialized(t, map[string]any{"id": []int64{int64(i)}}))
	}
	examples[bytes.Index(examples, []byte("damaged"))]++
	rec := nullable(t)
	arrowFile, parquetFile := file("arrow", string(arrowStream(t, rec))), file("parquet", string(parquetFileOf(t, rec)))
	arrowFile.Columns, parquetFile.Columns = []ColumnSpec{{Name: "id"}}, []ColumnSpec{{Name: "id"}}
	quoted := file("csv", string(packed(t, []byte(between("%d,a\n", map[int]string{8: "1,\"open\n"})))))
	return map[string]damagedCase{
		"csv":            {file("csv", between("%d,a\n", map[int]string{0: "first,a\n", 3: "x,a\n1\n", 9: ",b\n", 20: "last,a\n"})), 5, `t.csv:1:1: column "id": value "first"`},
		"csv header":     {header, 3, "t.csv:2: row has 1 cells"},
		"csv quotes":     {file("csv", between("%d,a\n", map[int]string{2: "1,\"open\n", 6: "2,\"x\"y\n3,a\"b\n", 15: "\n\n4,\"never closed\n"})), 4, "t.csv:3:3: this quote is not closed"},
		"csv last quote": {file("csv", between("%d,a\n", map[int]string{2: "1,a,b,c\n", 20: "\n4,\"never closed"})), 2, "t.csv:3: row has 4 cells"},
		"csv gzip":       {quoted, 1, "t.csv:9:3"},
		"csv marked":     {file("csv", "\ufeff"+between("%d,a\r\n", map[int]string{8: "1,\"open\r\n"})), 1, "t.csv:9:3"},
		"aligned":        {aligned, 2, "t.csv:6:3: this quote is not closed"},
		"jsonl":          {file("jsonl", between("{\"id\":%d}\n", map[int]string{0: "[]\n", 5: "{\"id\":\n{\"id\":\"x\"}\nnull\n{}\n", 20: "{\"id\":1}{\"id\":2}"})), 6, "t.jsonl:1: line is not a JSON object"},
		"tfrecord":       {file("tfrecord", string(examples)), 3, "t.tfrecord: record 5: record is not a tf.train.Example"},
		"arrow":          {arrowFile, 3, `t.arrow: column "id": row 4 of the file: value is null`},
		"parquet":        {parquetFile, 3, `t.parquet: column "id": row 4 of the file: value is null`},
	}
}

func arrowStream(t testing.TB, rec arrow.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(rec.Schema()))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parquetFileOf(t testing.TB, rec arrow.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pqarrow.NewFileWriter(rec.Schema(), &b, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDamagedRows: the good rows come, and each damaged one counts once, however many passes there are; without Damaged the first one is the error.
func TestDamagedRows(t *testing.T) {
	for name, c := range damagedCases(t) {
		t.Run(name, func(t *testing.T) {
			if err := readAll(c.spec, Context{Mode: Train, Allocator: checked(t)}); err == nil || !strings.Contains(err.Error(), c.first) {
				t.Errorf("without on_error: got %v, expected %q", err, c.first)
			}
			c.spec.OnError, c.spec.BatchSize, c.spec.Epochs = "skip", 3, 2
			total := silent()
			open := func(ic Context) Dataset {
				ic.Mode, ic.Allocator, ic.Damaged = Train, checked(t), total
				return must[Dataset](t)(Open(t.Context(), c.spec, ic))
			}
			ds := open(Context{})
			want := make([]int64, 40)
			for i := range want {
				want[i] = int64(i % 20)
			}
			if got := column[int64](t, ds, "id"); !slices.Equal(got, want) {
				t.Errorf("got %v", got)
			}
			if total.Count() != c.damaged || !strings.Contains(total.First().Error(), c.first) {
				t.Errorf("%d damaged rows, the first: %v; expected %d, %q", total.Count(), total.First(), c.damaged, c.first)
			}
			checkDataset(t, ds)
			for pipeline := range 3 {
				if got := column[int64](t, open(Context{Pipeline: pipeline, NumPipelines: 3}), "id"); got[1] != int64(pipeline+3) {
					t.Errorf("worker %d has %v", pipeline, got)
				}
			}
			if total.Count() != c.damaged {
				t.Errorf("%d damaged rows after more passes", total.Count())
			}
			c.spec.MaxErrors = c.damaged
			if err := readAll(c.spec, Context{Damaged: total}); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			if c.spec.MaxErrors--; c.spec.MaxErrors > 0 {
				if err := readAll(c.spec, Context{Damaged: total}); !errors.Is(err, ErrTooManyDamaged) || !strings.Contains(err.Error(), "max_errors") {
					t.Errorf("beyond the bound: %v", err)
				}
			}
		})
	}
}

// TestAllRowsDamaged: data without a good row is an error that explains the first row.
func TestAllRowsDamaged(t *testing.T) {
	for format, text := range map[string]string{"csv": "a;1\nb;2\n", "jsonl": "{}\n{}\n"} {
		spec := Spec{Format: format, Files: []string{write(t, "t", []byte(text))}, Columns: []ColumnSpec{{Name: "x"}, {Name: "y"}}, OnError: "skip"}
		if err := readAll(spec, Context{Damaged: silent()}); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "t:1") {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

// TestDamagedFiles: it is unknown how much a damaged file lost, so it stays an error.
func TestDamagedFiles(t *testing.T) {
	example := records(t, map[string]any{"x": []int64{1}}, map[string]any{"x": []int64{1}})
	for name, c := range map[string]struct{ format, text, want string }{
		"gzip":          {"csv", string(packed(t, bytes.Repeat([]byte("1\n"), 1<<16))[:120]), "cut short"},
		"record header": {"tfrecord", "\x01" + string(example[1:]), "not a TFRecord file"},
		"record cut":    {"tfrecord", string(example[:len(example)-2]), "cut short"},
		"parquet":       {"parquet", string(parquetFileOf(t, nullable(t))[:60]), "not a Parquet file"},
	} {
		spec := Spec{Format: c.format, Files: []string{write(t, "t", []byte(c.text))}, Columns: []ColumnSpec{{Name: "x"}}, OnError: "skip"}
		if err := readAll(spec, Context{Damaged: silent()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
}

// TestOnErrorAfterTheFact: a job that ended at a damaged row continues there with on_error: skip.
func TestOnErrorAfterTheFact(t *testing.T) {
	spec := Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte("1\n2\n3\nx\n4\n"))}, Columns: []ColumnSpec{{Name: "x"}}, BatchSize: 2}
	it := iterate(t, must[Dataset](t)(Open(t.Context(), spec, Context{})))
	rec, err := it.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	spec.OnError = "skip"
	ds := must[Dataset](t)(Open(t.Context(), spec, Context{Damaged: silent()}))
	later := iterate(t, ds)
	if err := later.Restore(state); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, later, ds.Schema(), 9); !slices.Equal(got, []string{"x[2] [] 0000404000008040 [];"}) { // 3 and 4
		t.Errorf("got %q", got)
	}
	if state, err = later.State(); err != nil {
		t.Fatal(err)
	}
	spec.OnError = ""
	if err := iterate(t, must[Dataset](t)(Open(t.Context(), spec, Context{}))).Restore(state); !errors.Is(err, ErrStateMismatch) {
		t.Errorf("without on_error again: got %v", err)
	}
}

// TestDamagedLog: the log has the first rows, then every thousandth count, then the total.
func TestDamagedLog(t *testing.T) {
	var log bytes.Buffer
	spec := Spec{Format: "csv", Files: []string{write(t, "t.csv", []byte(strings.Repeat("x\n", 2500)+"1\n"))}, Columns: []ColumnSpec{{Name: "x"}}, OnError: "skip"}
	if err := readAll(spec, Context{Damaged: &Damaged{Log: slog.New(slog.NewTextHandler(&log, nil))}}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(log.String(), "\n"); got != 6 || !strings.Contains(log.String(), "rows=2000") || !strings.Contains(log.String(), "damaged rows were left out\" rows=2500") {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
}

// TestManyOpenQuotes keeps the rows in between, in time linear in the size of the file.
func TestManyOpenQuotes(t *testing.T) {
	testkit.NotConcurrent(t)
	const n = 20_000
	name := write(t, "t.csv", bytes.Repeat([]byte("1,\"open\n2,b\n"), n))
	ds := must[Dataset](t)(CSV([]string{name}, CSVOptions{Columns: []ColumnSpec{{Name: "id", DType: "int64"}, {Name: "s", DType: "string"}}, Damaged: silent()}))
	if got := column[int64](t, ds, "id"); len(got) != n || slices.Max(got) != 2 || slices.Min(got) != 2 {
		t.Errorf("%d rows", len(got))
	}
}

// TestDamagedRowsEndWithTheContext: a pass over only damaged rows can be interrupted.
func TestDamagedRowsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := &Damaged{Log: slog.New(cancelHandler{slog.DiscardHandler, cancel})}
	ds := must[Dataset](t)(JSONL([]string{write(t, "t", bytes.Repeat([]byte("?\n"), 1000))}, ArrowOptions{Columns: []ColumnSpec{{Name: "x"}}, Damaged: left}))
	if _, err := iterate(t, ds).Next(ctx); !errors.Is(err, context.Canceled) || left.Count() > 10 {
		t.Errorf("got %v after %d rows", err, left.Count())
	}
}

type cancelHandler struct {
	slog.Handler
	cancel context.CancelFunc
}

func (h cancelHandler) Enabled(context.Context, slog.Level) bool { h.cancel(); return false }

func TestOnErrorSpec(t *testing.T) {
	for want, s := range map[string]Spec{
		`on_error: got "drop"`:                       {Format: "csv", OnError: "drop"},
		"expected it for the formats csv, jsonl":     {Format: "glyphs", OnError: "skip"},
		"max_errors: got 3, expected none without":   {Format: "csv", MaxErrors: 3},
		"max_errors: got -1, expected > 0, or 0 for": {Format: "csv", OnError: "skip", MaxErrors: -1},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
