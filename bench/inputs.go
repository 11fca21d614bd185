package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	example "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// The subject inputs reads files from start to end; a step is one pass. csv_adult and csv_floats end in Arrow columns, like pyarrow.csv's
// tables; parquet and tfrecord in batches of 512, with the rows of parquet shuffled. The features of tfrecord's examples are in random order, as Go
// writes them, those in tfrecord_ordered in a fixed order, as TensorFlow's Python writes them. jpeg_folder ends in batches of 64 decoded images.
var inputCases = []string{"csv_adult", "csv_floats", "parquet", "tfrecord", "tfrecord_ordered", "jpeg_folder"}

const (
	inputFloats     = 20
	inputStrings    = 5 // for each example
	inputRows       = 1_000_000
	inputExamples   = 200_000
	inputAdultBytes = 200 << 20
	inputBatch      = 512
	inputImages     = 1000 // JPEGs of 224x224
	inputImageBatch = 64
)

// inputFile describes a case's file to both sides.
type inputFile struct {
	File    string              `json:"file"`
	Rows    int                 `json:"rows"`
	Columns []inputs.ColumnSpec `json:"-"`
	Names   []string            `json:"names"`
	Strings []bool              `json:"strings"`
}

func inputsField(_ context.Context, s settings, dir string) (field, error) {
	files, err := writeInputs(dir, s.cases)
	if err != nil {
		return field{}, err
	}
	text, err := json.Marshal(files)
	if err != nil {
		return field{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "inputs.json"), text, 0o644); err != nil {
		return field{}, err
	}
	argv, err := self("inputs", dir)
	peer := s.peer("pyarrow, tf.data", "inputs.py", dir)
	peer.cases = inputCases
	return field{contenders: []contender{{name: ours, argv: argv}, peer}, check: &peer, tolerance: 1e-5}, err
}

// writeInputs writes the files of the given cases; of all cases if none are given.
func writeInputs(dir string, cases []string) (map[string]inputFile, error) {
	files := map[string]inputFile{}
	for name, write := range map[string]func(path string) (int, error){"csv_adult": writeAdult, "csv_floats": writeFloats, "parquet": writeParquet, "tfrecord": writeExamples(false), "tfrecord_ordered": writeExamples(true), "jpeg_folder": writeImages} {
		if len(cases) > 0 && !slices.Contains(cases, name) {
			continue
		}
		path := filepath.Join(dir, name)
		rows, err := write(path)
		if err != nil {
			return nil, err
		}
		f := inputFile{File: path, Rows: rows}
		for _, c := range inputColumns(name) {
			f.Names, f.Strings = append(f.Names, c.Name), append(f.Strings, c.DType == "string")
		}
		files[name] = f
	}
	return files, nil
}

// inputColumns are the columns of a case.
func inputColumns(name string) []inputs.ColumnSpec {
	if name == "jpeg_folder" {
		return []inputs.ColumnSpec{{Name: "image"}, {Name: "label"}}
	}
	if name == "csv_adult" {
		var out []inputs.ColumnSpec
		for _, n := range []string{"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
			"race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"} {
			c := inputs.ColumnSpec{Name: n, DType: "string"}
			switch n {
			case "age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week":
				c.DType = "float32"
			}
			out = append(out, c)
		}
		return out
	}
	var out []inputs.ColumnSpec
	for i := range inputFloats {
		out = append(out, inputs.ColumnSpec{Name: fmt.Sprintf("f%02d", i), DType: "float32"})
	}
	if name == "tfrecord" || name == "tfrecord_ordered" {
		for i := range inputStrings {
			out = append(out, inputs.ColumnSpec{Name: fmt.Sprintf("s%d", i), DType: "string"})
		}
	}
	return out
}

// created writes a file through a buffer.
func created(path string, write func(w *bufio.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// writeAdult writes the census data repeatedly.
func writeAdult(path string) (rows int, err error) {
	in, err := os.Open(adultFile)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return 0, err
	}
	lines := 0
	var kept []byte
	for line := range bytes.Lines(text) {
		if len(line) > 1 {
			kept = append(kept, bytes.ReplaceAll(line, []byte(", "), []byte(","))...)
			lines++
		}
	}
	return lines * (inputAdultBytes / len(kept)), created(path, func(w *bufio.Writer) error {
		for range inputAdultBytes / len(kept) {
			if _, err := w.Write(kept); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeFloats(path string) (int, error) {
	r := rand.New(rand.NewPCG(1, 2))
	return inputRows, created(path, func(w *bufio.Writer) error {
		var line []byte
		for range inputRows {
			line = line[:0]
			for i := range inputFloats {
				if i > 0 {
					line = append(line, ',')
				}
				line = strconv.AppendFloat(line, r.NormFloat64(), 'g', -1, 32)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeParquet(path string) (int, error) {
	r := rand.New(rand.NewPCG(3, 4))
	fields, columns := make([]arrow.Field, inputFloats), make([]arrow.Array, inputFloats)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("f%02d", i), Type: arrow.PrimitiveTypes.Float32}
		b := array.NewFloat32Builder(memory.DefaultAllocator)
		for range inputRows {
			b.Append(float32(r.NormFloat64()))
		}
		columns[i] = b.NewArray()
	}
	rec := array.NewRecord(arrow.NewSchema(fields, nil), columns, inputRows)
	table := array.NewTableFromRecords(rec.Schema(), []arrow.Record{rec})
	// Like pyarrow.parquet by default: row groups of 1 Mi rows, dictionaries until they are too large.
	return inputRows, created(path, func(w *bufio.Writer) error {
		return pqarrow.WriteTable(table, w, 1<<20, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy)), pqarrow.DefaultWriterProps())
	})
}

// writeImages writes a folder with one subfolder for each of two classes.
func writeImages(folder string) (int, error) {
	r := rand.New(rand.NewPCG(9, 10))
	different := make([][]byte, 2*jpegImages)
	for i := range different {
		var err error
		if different[i], err = drawImage(r, 224, 224); err != nil {
			return 0, err
		}
	}
	for i := range inputImages {
		class := filepath.Join(folder, fmt.Sprintf("class%d", i%2))
		if err := os.MkdirAll(class, 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%04d.jpg", i)), different[i%len(different)], 0o644); err != nil {
			return 0, err
		}
	}
	return inputImages, nil
}

// writeExamples returns a function that writes a file of examples.
func writeExamples(ordered bool) func(path string) (int, error) {
	return func(path string) (int, error) {
		return inputExamples, created(path, func(w *bufio.Writer) error { return writeExamplesTo(w, ordered) })
	}
}

func writeExamplesTo(w *bufio.Writer, ordered bool) error {
	r := rand.New(rand.NewPCG(5, 6))
	out := tfrecord.NewWriter(w)
	for range inputExamples {
		features := map[string]*example.Feature{}
		for i := range inputFloats {
			features[fmt.Sprintf("f%02d", i)] = &example.Feature{Kind: &example.Feature_FloatList{FloatList: &example.FloatList{Value: []float32{float32(r.NormFloat64())}}}}
		}
		for i := range inputStrings {
			word := fmt.Appendf(nil, "word%d", r.IntN(1000))
			features[fmt.Sprintf("s%d", i)] = &example.Feature{Kind: &example.Feature_BytesList{BytesList: &example.BytesList{Value: [][]byte{word}}}}
		}
		text, err := proto.MarshalOptions{Deterministic: ordered}.Marshal(&example.Example{Features: &example.Features{Feature: features}})
		if err != nil {
			return err
		}
		if err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// inputsWorker reads with our pipelines, with the same heap floor as training.
func inputsWorker(l *link, args []string) error {
	text, err := os.ReadFile(filepath.Join(args[0], "inputs.json"))
	if err != nil {
		return err
	}
	var files map[string]inputFile
	if err := json.Unmarshal(text, &files); err != nil {
		return err
	}
	values := map[string][]float64{}
	if len(files) > 0 { // the case stream measures memory, without a floor
		floor := make([]byte, 64<<20)
		defer runtime.KeepAlive(floor)
		debug.SetGCPercent(200)
	}
	for name := range files {
		sums := make([]float64, len(files[name].Names)+1)
		if err := readInput(name, files[name], func(rec arrow.Record) { addSums(sums, rec) }); err != nil {
			return err
		}
		values[name] = sums
	}
	return l.serve(reply{Values: values, Version: runtime.Version()}, func(c command) (reply, error) {
		if c.name == "stream" {
			return readStream()
		}
		begun, rows := time.Now(), int64(0)
		for range c.steps {
			if err := readInput(c.name, files[c.name], func(rec arrow.Record) { rows += rec.NumRows() }); err != nil {
				return reply{}, err
			}
		}
		return reply{Seconds: time.Since(begun).Seconds(), More: map[string]float64{"rows": float64(rows)}}, nil
	})
}

// addSums adds the number of rows and the sum of each column; for a text column, the number of bytes.
func addSums(sums []float64, rec arrow.Record) {
	sums[0] += float64(rec.NumRows())
	for i, c := range rec.Columns() {
		switch c := c.(type) {
		case *array.Float32:
			for _, v := range c.Float32Values() {
				sums[i+1] += float64(v)
			}
		case *array.Binary:
			sums[i+1] += float64(len(c.ValueBytes()))
		case *array.FixedSizeList: // of images
			size := int(c.DataType().(*arrow.FixedSizeListType).Len())
			for _, v := range c.ListValues().(*array.Uint8).Uint8Values()[c.Offset()*size:][:c.Len()*size] {
				sums[i+1] += float64(v)
			}
		case *array.Int64:
			for _, v := range c.Int64Values() {
				sums[i+1] += float64(v)
			}
		}
	}
}

// readInput reads a case's file once.
func readInput(name string, f inputFile, each func(arrow.Record)) error {
	var ds inputs.Dataset
	var err error
	switch name {
	case "parquet":
		ds, err = inputs.Parquet([]string{f.File}, inputs.ArrowOptions{Columns: inputColumns(name)})
		ds = inputs.Pipe(ds, inputs.Shuffle(f.Rows, 1), inputs.Batch(inputBatch, false), inputs.Prefetch(2))
	case "tfrecord", "tfrecord_ordered":
		ds, err = inputs.TFRecord([]string{f.File}, inputs.ArrowOptions{Columns: inputColumns(name)})
		ds = inputs.Pipe(ds, inputs.Batch(inputBatch, false), inputs.Prefetch(2))
	case "jpeg_folder":
		ds, err = inputs.ImageFolder(f.File, inputs.Images{})
		ds = inputs.Pipe(ds, inputs.Batch(inputImageBatch, false), inputs.Prefetch(2))
	default:
		ds, err = inputs.CSV([]string{f.File}, inputs.CSVOptions{Columns: inputColumns(name)})
	}
	if err != nil {
		return err
	}
	return readRows(ds, each)
}

// readRows makes one pass.
func readRows(ds inputs.Dataset, each func(arrow.Record)) error {
	ctx := context.Background()
	it, err := ds.Iterate(ctx)
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		each(rec)
		rec.Release()
	}
}
