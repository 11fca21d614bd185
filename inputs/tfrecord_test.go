package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/tensor"
)

// serialized returns a tf.train.Example with features: []int64, []float32, []string or nil (without a list).
func serialized(t testing.TB, features map[string]any) []byte {
	t.Helper()
	m := &example.Example{Features: &example.Features{Feature: map[string]*example.Feature{}}}
	for name, v := range features {
		f := &example.Feature{}
		switch v := v.(type) {
		case []int64:
			f.Kind = &example.Feature_Int64List{Int64List: &example.Int64List{Value: v}}
		case []float32:
			f.Kind = &example.Feature_FloatList{FloatList: &example.FloatList{Value: v}}
		case []string:
			l := &example.BytesList{}
			for _, s := range v {
				l.Value = append(l.Value, []byte(s))
			}
			f.Kind = &example.Feature_BytesList{BytesList: l}
		}
		m.Features.Feature[name] = f
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// records returns a TFRecord file of examples.
func records(t testing.TB, examples ...map[string]any) []byte {
	t.Helper()
	var file []byte
	for _, e := range examples {
		file = tfrecord.Append(file, serialized(t, e))
	}
	return file
}

func openTFRecord(t testing.TB, columns []ColumnSpec, files ...[]byte) Dataset {
	t.Helper()
	var names []string
	for i, f := range files {
		names = append(names, write(t, fmt.Sprintf("part%d.tfrecord", i), f))
	}
	ds, err := TFRecord(names, ArrowOptions{Columns: columns, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestTFRecord(t *testing.T) {
	type m = map[string]any
	one := records(t,
		m{"f": []float32{1.5}, "i": []int64{-3}, "s": []string{"a\xff"}, "v": []float32{1, 2}, "r": []string{"x", "z", "y"}, "n": []int64{7, 8}, "y": []string{"no"}, "other": []int64{1}},
		m{"f": []int64{2}, "i": []string{"5"}, "s": []int64{4}, "v": []int64{3, 4}, "r": []string{}, "y": []string{"yes"}})
	two := records(t,
		m{"f": nil, "i": []int64{0}, "r": nil, "n": []int64{}, "y": []string{"no"}})
	columns := []ColumnSpec{
		{Name: "f", Default: -1}, {Name: "i", DType: "int64"}, {Name: "s", DType: "string", Default: "?"}, {Name: "v", Shape: []int{2}, Default: 0.5},
		{Name: "r", Ragged: true, Vocabulary: []string{"x", "y"}}, {Name: "n", DType: "float64", Ragged: true},
		{Name: "y", Role: Label, Vocabulary: []string{"no", "yes"}},
	}
	for name, files := range map[string][][]byte{"plain": {one, two}, "gzip": {packed(t, one), two}} {
		ds := Pipe(openTFRecord(t, columns, files...), Batch(8, false))
		rec, err := iterate(t, ds).Next(context.Background())
		if err != nil {
			t.Fatal(name, err)
		}
		ts, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(tensor.Values[float32](ts[0].Tensor), tensor.Values[int64](ts[1].Tensor), ts[2].Tensor.Strings, tensor.Values[float32](ts[3].Tensor),
			tensor.Values[int64](ts[4].Tensor), ts[4].Offsets, tensor.Values[float64](ts[5].Tensor), ts[5].Offsets, tensor.Values[int64](ts[6].Tensor))
		rec.Release()
		want := fmt.Sprint([]float32{1.5, 2, -1}, []int64{-3, 5, 0}, [][]byte{{'a', 0xff}, {'4'}, {'?'}}, []float32{1, 2, 3, 4, .5, .5},
			[]int64{0, -1, 1}, []int32{0, 3, 3, 3}, []float64{7, 8}, []int32{0, 2, 2, 2}, []int64{0, 1, 0})
		if got != want {
			t.Errorf("%s:\ngot      %s\nexpected %s", name, got, want)
		}
	}
}

func TestTFRecordContract(t *testing.T) {
	var files [2][]byte
	for i := range 40 {
		e := map[string]any{"x": []float32{float32(i)}, "id": []int64{int64(i)}, "tags": []string{"a", "bb", "ccc"}[:i%4]}
		files[i/30] = append(files[i/30], records(t, e)...)
	}
	ds := openTFRecord(t, []ColumnSpec{{Name: "x"}, {Name: "id", DType: "int64", Role: Label}, {Name: "tags", DType: "string", Ragged: true}}, files[0], packed(t, files[1]))
	checkDataset(t, Pipe(ds, Batch(7, false)))
	checkDataset(t, Pipe(ds, Shuffle(20, 1), Batch(6, false), Prefetch(1)))
	checkDataset(t, Pipe(ds, Cache(), Shuffle(20, 1), Batch(6, false), Prefetch(1)))
	if got := flat(ids(t, Pipe(ds, Batch(7, false)))); !cmp.Equal(got, seq(40)) {
		t.Errorf("got rows %v", got)
	}
}

// TestTFRecordLikeGzip: the length of the first record may look like gzip's first bytes.
func TestTFRecordLikeGzip(t *testing.T) {
	e := map[string]any{"s": []string{""}}
	e["s"] = []string{strings.Repeat("x", 0x8b1f-len(serialized(t, map[string]any{"s": []string{strings.Repeat("x", 35000)}}))+35000)}
	file := records(t, e)
	if file[0] != 0x1f || file[1] != 0x8b {
		t.Fatalf("the file begins with %x", file[:2])
	}
	ds := openTFRecord(t, []ColumnSpec{{Name: "s", DType: "string"}}, file, packed(t, file))
	if got := drain(t, iterate(t, ds), ds.Schema(), 9); len(got) != 2 {
		t.Errorf("got %d records", len(got))
	}
}

func TestTFRecordLargeExamples(t *testing.T) {
	file := records(t, map[string]any{"s": []string{strings.Repeat("x", 5<<20)}})
	ds := openTFRecord(t, []ColumnSpec{{Name: "s", DType: "string"}}, bytes.Repeat(file, 5))
	it, rows := iterate(t, ds), []int64{}
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rec.NumRows())
		rec.Release()
	}
	if d := cmp.Diff([]int64{2, 2, 1}, rows); d != "" {
		t.Errorf("rows of the record batches: %s", d)
	}
}

// TestTFRecordLargestExample tests an example of the largest size, and a larger one.
func TestTFRecordLargestExample(t *testing.T) {
	e := map[string]any{"x": []int64{7}}
	n := len(serialized(t, e))
	format, err := newExampleFormat(ArrowOptions{Allocator: checked(t), Columns: []ColumnSpec{{Name: "x", DType: "int64"}}})
	if err != nil {
		t.Fatal(err)
	}
	for largest, want := range map[int]string{n + 1: "", n: "", n - 1: fmt.Sprintf("example has %d bytes, expected at most %d", n, n-1)} {
		r := format.reader(context.Background(), "t", bytes.NewReader(records(t, e)), nil)
		r.largest = largest
		rec, err := r.read(context.Background(), 1)
		if want == "" && err == nil {
			rec.Release()
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("at most %d bytes: got %v, expected %q", largest, err, want)
		}
	}
}

// fading is a context that ends once Err has been called a number of times.
type fading struct {
	context.Context
	left int
}

func (f *fading) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestTFRecordInterrupted: reading an example with very many parts stops when the context ends, and is repeated
// at the next call.
func TestTFRecordInterrupted(t *testing.T) {
	many := bytes.Repeat([]byte{0x1a, 2, 8, 7}, 50_000) // parts of a list of integers, one value each
	entry := protowire.AppendBytes([]byte{0x0a, 1, 'x', 0x12}, many)
	example := protowire.AppendBytes([]byte{0x0a}, protowire.AppendBytes([]byte{0x0a}, entry))
	example = append(example, bytes.Repeat([]byte{0x0a, 0}, 50_000)...) // and of the example
	var file []byte
	for range 3 {
		file = tfrecord.Append(file, example)
	}
	format, err := newExampleFormat(ArrowOptions{Allocator: checked(t), Columns: []ColumnSpec{{Name: "x", DType: "int64", Ragged: true}}})
	if err != nil {
		t.Fatal(err)
	}
	r := format.reader(context.Background(), "t", bytes.NewReader(file), nil)
	rows, interrupted := int64(0), 0
	for {
		rec, err := r.read(&fading{t.Context(), 10 * interrupted}, 2)
		if eof(err) {
			break
		}
		if errors.Is(err, context.Canceled) {
			if interrupted++; interrupted > 100 {
				t.Fatal("it does not go on")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			if from, to := rec.Column(0).(*array.List).ValueOffsets(i); to-from != 50_000 {
				t.Errorf("row %d has %d values", rows, to-from)
			}
		}
		rows += rec.NumRows()
		rec.Release()
	}
	if rows != 3 || interrupted == 0 {
		t.Errorf("%d rows, %d interruptions", rows, interrupted)
	}
}

func TestBadTFRecord(t *testing.T) {
	type m = map[string]any
	good := m{"x": []float32{1}, "y": []string{"a"}}
	whole := records(t, good)
	after := func(bad m) []byte { return records(t, good, bad) }
	flipped := append(bytes.Clone(whole), whole...)
	flipped[len(flipped)-6] ^= 1
	columns := []ColumnSpec{{Name: "x"}, {Name: "y", Role: Label, Vocabulary: []string{"a", "b"}}}
	tags := func(role Role) []ColumnSpec {
		return []ColumnSpec{{Name: "tags", DType: "int64", Ragged: true, Role: role}}
	}
	for name, c := range map[string]struct {
		file    []byte
		columns []ColumnSpec
		want    []string
	}{
		"empty":         {nil, columns, []string{"data set is empty"}},
		"no columns":    {whole, nil, []string{"columns: got nothing, expected the columns of the file"}},
		"text":          {[]byte("x,y\n1,a\n2,b\n3,a\n"), columns, []string{"t: this is text, expected a TFRecord file: name another file, or set format: csv"}},
		"other":         {[]byte("\x00\x00\x00\x01\x02\x03\x04\x00\x00\x00\x01\x02\x03\x04"), columns, []string{"t: record 1: this is not a TFRecord file, or it is damaged", "offset 0"}},
		"no example":    {append(bytes.Clone(whole), tfrecord.Append(nil, []byte("hello"))...), columns, []string{"t: record 2", "not a tf.train.Example", fmt.Sprint("offset ", len(whole)+12)}},
		"cut":           {append(bytes.Clone(whole), whole[:20]...), columns, []string{"t: record 2", "cut short", fmt.Sprint("offset ", len(whole))}},
		"cut in header": {append(bytes.Clone(whole), whole[:5]...), columns, []string{"t: record 2", "5 bytes of the 12 byte header", fmt.Sprint("offset ", len(whole))}},
		"flipped":       {flipped, columns, []string{"t: record 2", "checksum of the data", fmt.Sprint("offset ", len(whole))}},
		"cut gzip":      {packed(t, whole)[:60], columns, []string{"t: record 2", "cut short"}},
		"missing":       {after(m{"y": []string{"a"}}), columns, []string{`t: record 2: column "x"`, "value is missing"}},
		"label":         {after(m{"x": []float32{1}, "y": []string{"c"}}), columns, []string{`t: record 2: column "y"`, `unknown label "c"`, "a, b"}},
		"type":          {after(m{"x": []string{"q"}, "y": []string{"a"}}), columns, []string{`t: record 2: column "x"`, `value "q" is not a float32 number`}},
		"long value":    {after(m{"x": []string{strings.Repeat("q", 5000)}, "y": []string{"a"}}), columns, []string{`t: record 2: column "x"`, `qqq"... (5000 bytes) is not a float32 number`}},
		"size":          {after(m{"x": []float32{1, 2}, "y": []string{"a"}}), columns, []string{`t: record 2: column "x"`, "value has 2 elements, expected 1", "set ragged"}},
		"no value":      {after(m{"x": []float32{}, "y": []string{"a"}}), columns, []string{`t: record 2: column "x"`, "value has 0 elements, expected 1"}},
		"ragged label":  {records(t, m{"tags": []int64{1}}, m{}), tags(Label), []string{`t: record 2: column "tags"`, "a label needs its list"}},
		"ragged value":  {records(t, m{"tags": []float32{1, 2.5}}), tags(""), []string{`t: record 1: column "tags"`, `value "2.5" is not an int64 number`}},
		"ragged weight": {whole, []ColumnSpec{{Name: "x", Ragged: true, Role: Weight}}, []string{`column "x"`, "weight of an example"}},
		"ragged shape":  {whole, []ColumnSpec{{Name: "x", Ragged: true, Shape: []int{2}}}, []string{`column "x"`, "ragged column has no shape"}},
		"default":       {whole, []ColumnSpec{{Name: "x", Ragged: true, Default: 1}}, []string{`column "x"`, "ragged column has no default"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAll(Spec{Format: "tfrecord", Files: []string{write(t, "t", c.file)}, Columns: c.columns}, Context{Mode: Train, Allocator: checked(t)})
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, expected an error of one line", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %q, expected it to contain %q", err, w)
				}
			}
		})
	}
}

func TestTFRecordErrorsAreTyped(t *testing.T) {
	whole := records(t, map[string]any{"x": []float32{1}})
	spec := Spec{Format: "tfrecord", Files: []string{write(t, "t", append(whole, whole[:9]...))}, Columns: []ColumnSpec{{Name: "x"}}}
	err := readAll(spec, Context{})
	var de *DataError
	var ce *tfrecord.CorruptError
	if !errors.As(err, &de) || de.Record != 2 || !errors.As(err, &ce) || ce.Offset != int64(len(whole)) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %#v", err)
	}
}

func FuzzTFRecord(f *testing.F) {
	seed := serialized(f, map[string]any{"x": []float32{1}, "y": []string{"a"}, "z": []int64{1, 2}, "r": []string{"a", "b"}})
	f.Add(seed, false)
	f.Add(tfrecord.Append(nil, seed), true)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if !whole { // with correct checksums
			data = tfrecord.Append(nil, data)
		}
		format, err := newExampleFormat(ArrowOptions{Allocator: checked(t), Columns: []ColumnSpec{
			{Name: "x", Default: 0}, {Name: "y", DType: "string"}, {Name: "z", DType: "int64", Shape: []int{2}}, {Name: "r", Ragged: true, Vocabulary: []string{"a"}}}})
		if err != nil {
			t.Fatal(err)
		}
		exhaust(t, format.reader(context.Background(), "fuzz.tfrecord", bytes.NewReader(data), nil), format.schema)
	})
}

// BenchmarkTFRecord reads examples with 13 numbers, 5 words of a vocabulary and a list of words.
func BenchmarkTFRecord(b *testing.B) {
	e := map[string]any{"y": []int64{1}, "r": []string{"a", "b", "c", "d"}, "v": make([]float32, 64)}
	columns := []ColumnSpec{{Name: "y", DType: "int64", Role: Label}, {Name: "r", DType: "string", Ragged: true}, {Name: "v", Shape: []int{64}}}
	for i := range 13 {
		name := fmt.Sprint("n", i)
		e[name], columns = []float32{float32(i)}, append(columns, ColumnSpec{Name: name})
	}
	for i := range 5 {
		name := fmt.Sprint("c", i)
		e[name], columns = []string{"b"}, append(columns, ColumnSpec{Name: name, Vocabulary: []string{"a", "b"}})
	}
	file := bytes.Repeat(records(b, e), 1000)
	ds, err := TFRecord([]string{write(b, "t", file)}, ArrowOptions{Columns: columns})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file) / 1000 * 128))
	benchmark(b, Pipe(ds, Repeat(0), Batch(128, true)), 128)
}
