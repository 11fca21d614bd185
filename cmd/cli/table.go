package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/platform/printable"
)

// variableTable is a hook that prints the model's variables before the first step.
type variableTable struct {
	hooks.Base
	app   *app
	chief bool
}

var _ hooks.Hook = (*variableTable)(nil)

// Begin records whether this task is the chief; only the chief prints.
func (h *variableTable) Begin(s hooks.Setup) error {
	h.chief = s.IsChief()
	return nil
}

// AfterCreateSession prints a table, or for programs one line for each variable.
func (h *variableTable) AfterCreateSession(_ context.Context, r hooks.Run) error {
	l, ok := r.(hooks.VariableLister)
	if !ok || !h.chief {
		return nil
	}
	if !h.app.logs.json {
		_, err := io.WriteString(h.app.stderr, formatVariables(l.Variables()))
		return err
	}
	for _, v := range l.Variables() {
		n := elements(v.Shape)
		h.app.log.Info("variable", "name", v.Name, "type", v.DType, "shape", v.Shape, "parameters", n, "bytes", n*int64(v.DType.Size()), "trainable", v.Trainable)
	}
	return nil
}

// formatVariables makes a table of variables with their totals.
func formatVariables(vars []hooks.VariableInfo) string {
	t := newTextTable("variable", "type", "shape", "parameters", "bytes", "trainable")
	t.right(3, 4)
	var count, bytes, trained int64
	for _, v := range vars {
		n := elements(v.Shape)
		size := n * int64(v.DType.Size())
		count, bytes = count+n, bytes+size
		if v.Trainable {
			trained += n
		}
		t.add(v.Name, v.DType.String(), shapeText(v.Shape), group(n), group(size), yesNo(v.Trainable))
	}
	t.add("total", "", "", group(count), group(bytes), group(trained))
	return t.String()
}

func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}

func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// group formats 1234567 as 1,234,567.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// textTable aligns cells in columns as wide as their widest cell.
type textTable struct {
	rows  [][]string
	ahead map[int]bool // columns that are aligned to the right
}

func newTextTable(header ...string) *textTable {
	return &textTable{rows: [][]string{header}, ahead: map[int]bool{}}
}

func (t *textTable) right(columns ...int) {
	for _, c := range columns {
		t.ahead[c] = true
	}
}

// add appends a row. Cells may hold names from untrusted files.
func (t *textTable) add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = printable.Text(c)
	}
	t.rows = append(t.rows, row)
}

// String returns the table, one line for each row.
func (t *textTable) String() string {
	widths := make([]int, len(t.rows[0]))
	for _, r := range t.rows {
		for i, c := range r {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	var b strings.Builder
	for _, r := range t.rows {
		var line strings.Builder
		for i, c := range r {
			width := widths[i]
			if !t.ahead[i] {
				width = -width
			}
			fmt.Fprintf(&line, "%*s  ", width, c)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
