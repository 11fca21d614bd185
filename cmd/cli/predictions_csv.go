package cli

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/goestimator/goestimator/tensor"
)

// csvPredictions writes a header and a line for each row. A vector or list with one value is one cell; with more values, each has its own
// column, whose name ends with its index: probabilities_0.
type csvPredictions struct {
	out   *bufio.Writer
	lines *csv.Writer
	first []namedValue // nil before the header is written
	cells []string
}

func newCSVPredictions(w io.Writer) flushingWriter {
	out := bufio.NewWriter(w)
	return &csvPredictions{out: out, lines: csv.NewWriter(out)}
}

func (w *csvPredictions) Write(row []namedValue) error {
	if w.first == nil {
		if err := w.header(row); err != nil {
			return err
		}
	}
	w.cells = w.cells[:0]
	for i, v := range row {
		if n := tensor.NumElements(v.value.Shape); n != tensor.NumElements(w.first[i].value.Shape) {
			return fmt.Errorf("%s: %w", v.name, errShapes(w.first[i].value.Shape, v.value.Shape))
		}
		var err error
		if w.cells, err = appendCells(w.cells, v.value); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return w.lines.Write(w.cells)
}

// header writes the names of columns.
func (w *csvPredictions) header(row []namedValue) error {
	w.first = row
	var names []string
	seen := map[string]bool{}
	for _, v := range row {
		for _, place := range cellPlaces(v.value.Shape) {
			name := v.name + place
			if seen[name] {
				return fmt.Errorf("two columns have the name %s: choose among the predictions by predict.keys", name)
			}
			seen[name], names = true, append(names, name)
		}
	}
	return w.lines.Write(names)
}

func (w *csvPredictions) Close() error { return w.Flush() }

// Flush writes buffered data.
func (w *csvPredictions) Flush() error {
	w.lines.Flush()
	if err := w.lines.Error(); err != nil {
		return err
	}
	return w.out.Flush()
}

// cellPlaces are the suffixes for the names of a value's columns.
func cellPlaces(shape []int) []string {
	if tensor.NumElements(shape) == 1 {
		return []string{""}
	}
	all := []string{""}
	for _, n := range shape {
		var next []string
		for _, p := range all {
			for i := range n {
				next = append(next, p+"_"+strconv.Itoa(i))
			}
		}
		all = next
	}
	return all
}

// appendCells appends the values of a tensor as texts. Numbers that are not finite are NaN, +Inf or -Inf.
func appendCells(cells []string, t *tensor.Tensor) ([]string, error) {
	for i := range tensor.NumElements(t.Shape) {
		switch {
		case t.DType == tensor.String:
			cells = append(cells, string(t.Strings[i]))
		case t.DType == tensor.Float64:
			cells = append(cells, strconv.FormatFloat(t.Float(i), 'g', -1, 64))
		case t.DType.Float():
			cells = append(cells, strconv.FormatFloat(t.Float(i), 'g', -1, 32))
		default:
			b, err := appendElement(nil, t, i)
			if err != nil {
				return nil, err
			}
			cells = append(cells, string(b))
		}
	}
	return cells, nil
}
