package main

import (
	"fmt"
	"io"
	"strings"
)

// rows are the lines of the table.
var rows = []struct {
	name  string
	value func(h *figures) string
}{
	{"production lines", func(h *figures) string { return fmt.Sprint(h.lines) }},
	{"packages", func(h *figures) string { return fmt.Sprint(h.packages) }},
	{"public packages", func(h *figures) string { return fmt.Sprint(len(h.public)) }},
	{"exported identifiers of public packages", func(h *figures) string { return fmt.Sprint(h.exported) }},
	{"public signatures that name internal types", func(h *figures) string { return fmt.Sprint(len(h.internal)) }},
	{"internal types that they name", func(h *figures) string { return fmt.Sprint(len(h.internalTypes)) }},
	{"lines of a function: median / p90 / max", func(h *figures) string { return h.functions.String() }},
	{"lines of a file: median / p90 / max", func(h *figures) string { return h.files.String() }},
	{"files that name an op of engine and eager: median / p90 / max", func(h *figures) string { return h.ops.String() }},
	{"packages without package doc", func(h *figures) string { return fmt.Sprint(len(h.undocumented)) }},
	{"packages without Example", func(h *figures) string { return fmt.Sprint(len(h.examples)) }},
	{"test lines per production line", func(h *figures) string { return fmt.Sprintf("%.2f", float64(h.testLines)/float64(max(h.lines, 1))) }},
}

// table prints a Markdown table with a column for each of columns.
func table(out io.Writer, names []string, columns ...*figures) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---:|", len(names)))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, h := range columns {
			fmt.Fprintf(&b, " %s |", r.value(h))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}
