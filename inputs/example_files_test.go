package inputs_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/inputs"
)

// inFile writes a file in a temporary folder, which remove deletes.
func inFile(name string, content []byte) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "inputs")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		log.Fatal(err)
	}
	return path, func() { os.RemoveAll(dir) }
}

// found ends the program if a data set could not be opened.
func found[D inputs.Dataset](ds D, err error) D {
	if err != nil {
		log.Fatal(err)
	}
	return ds
}

// Columns are found by the names in the first line; a missing number gets its default.
func ExampleCSV() {
	path, remove := inFile("flats.csv", []byte("town;rooms;rent\nUlm;3;710.5\nBern;;1480\n"))
	defer remove()
	ds := found(inputs.CSV([]string{path}, inputs.CSVOptions{Header: true, Delimiter: ";", Columns: []inputs.ColumnSpec{
		{Name: "rooms", Default: -1}, {Name: "town", Vocabulary: []string{"Bern", "Ulm"}}, {Name: "rent", Role: inputs.Label}}}))
	fmt.Println(ds.Schema())
	printColumns(inputs.Pipe(ds, inputs.Batch(2, false)))
	// Output:
	// rooms float32 feature, town int64 feature, rent float32 label
	// rooms [3 -1] town [1 0] rent [710.5 1480]
}

// Lists of any length are ragged columns.
func ExampleJSONL() {
	path, remove := inFile("visits.jsonl", []byte("{\"seen\": [3, 4], \"next\": 5}\n{\"next\": 7}\n"))
	defer remove()
	ds := found(inputs.JSONL([]string{path}, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{
		{Name: "seen", DType: "int64", Ragged: true}, {Name: "next", DType: "int64", Role: inputs.Label}}}))
	printColumns(inputs.Pipe(ds, inputs.Batch(2, false)))
	// Output:
	// seen [3 4] next [5 7]
}

// Types come from the file; Columns chooses among its columns.
func ExampleParquet() {
	ds := found(inputs.Parquet([]string{"testdata/snappy.parquet"}, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "word"}, {Name: "i64", Role: inputs.Label}}}))
	printColumns(inputs.Pipe(ds, inputs.Take(4), inputs.Batch(4, false)))
	// Output:
	// word [alpha béta  delta] i64 [-25 -24 -23 -22]
}

// Files of the format and streams: the content tells which it is.
func ExampleArrowFile() {
	ds := found(inputs.ArrowFile([]string{"testdata/plain.arrow", "testdata/stream.arrow"}, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "word"}}}))
	printColumns(inputs.Pipe(ds, inputs.Skip(1), inputs.Take(2), inputs.Batch(2, false)))
	// Output:
	// word [béta ]
}

// twoExamples is a file of two tf.train.Examples.
const twoExamples = "JAAAAAAAAABCK4BNCiIKDwoDYWdlEggSBgoEAAD4QQoPCgR0b3duEgcKBQoDVWxtrd8wciUAAAAAAAAA6rw28wojCg8KA2FnZRIIEgYKBAAANEIKEAoEdG93bhIICgYKBEJlcm6kJz56"

// Features that the columns do not name are left out.
func ExampleTFRecord() {
	content, err := base64.StdEncoding.DecodeString(twoExamples)
	if err != nil {
		log.Fatal(err)
	}
	path, remove := inFile("people.tfrecord", content)
	defer remove()
	ds := found(inputs.TFRecord([]string{path}, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "town", DType: "string"}, {Name: "age", DType: "float32"}}}))
	printColumns(inputs.Pipe(ds, inputs.Batch(2, false)))
	// Output:
	// town [Ulm Bern] age [31 45]
}

// Two images of 1 x 2 pixels, and their labels.
func ExampleIDX() {
	images, removeImages := inFile("images.idx", []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4})
	defer removeImages()
	labels, removeLabels := inFile("labels.idx", []byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9})
	defer removeLabels()
	ds := found(inputs.IDX(inputs.IDXFiles{Images: images, Labels: labels}, nil))
	fmt.Println(ds.Schema(), ds.Len())
	// Output: image uint8[1 2 1] feature, label int64 label 2
}

func ExampleCIFAR10() {
	path, remove := inFile("batch.bin", make([]byte, 3*3073)) // three black images of class 0
	defer remove()
	ds := found(inputs.CIFAR10([]string{path}, nil))
	fmt.Println(ds.Schema(), ds.Len())
	// Output: image uint8[32 32 3] feature, label int64 label 3
}

// Slices of a program are used without a copy.
func ExampleSlices() {
	ds := found(inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float64{1.5, 2.5}), inputs.Strings("word", inputs.Feature, []string{"a", "b"}), inputs.Slice("y", inputs.Label, []int64{0, 1})))
	printColumns(inputs.Pipe(ds, inputs.Batch(2, false)))
	// Output:
	// x [1.5 2.5] word [a b] y [0 1]
}

// A function makes the rows of each pass.
func ExampleGenerator() {
	squares := func(context.Context) iter.Seq2[inputs.Row, error] {
		return func(yield func(inputs.Row, error) bool) {
			for i := range int64(3) {
				if !yield(inputs.Row{"x": i, "y": i * i}, nil) {
					return
				}
			}
		}
	}
	ds := found(inputs.Generator(squares, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "x", DType: "int64"}, {Name: "y", DType: "int64", Role: inputs.Label}}}))
	printColumns(inputs.Pipe(ds, inputs.Repeat(2), inputs.Batch(6, false)))
	// Output:
	// x [0 1 2 0 1 2] y [0 1 4 0 1 4]
}
