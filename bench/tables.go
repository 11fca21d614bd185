package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Markers around the part of docs/performance.md that writeTables writes.
const (
	tablesBegin = "<!-- tables: made by `go run ./bench tables` from bench/results -->\n"
	tablesEnd   = "<!-- end of tables -->\n"
)

// writeTables inserts the recorded results into a document, and writes a plot next to it.
func writeTables(results, document string) error {
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), tablesBegin)
	_, after, ok2 := strings.Cut(rest, tablesEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s: expected the lines %q and %q", document, tablesBegin, tablesEnd)
	}
	var w bytes.Buffer
	for _, s := range subjects {
		r, err := readResult(results, s.name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		r.markdown(&w)
		if s.name == "matmul" {
			r.shares(&w, results)
		}
		if s.name == "growth" {
			svg := filepath.Join(filepath.Dir(document), "growth.svg")
			if err := os.WriteFile(svg, growthPlot(r), 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(document, []byte(before+tablesBegin+w.String()+tablesEnd+after), 0o644)
}

// markdown writes the subject's table.
func (r *result) markdown(w *bytes.Buffer) {
	fmt.Fprintf(w, "\n### %s\n\n%s, in %s. %s, %s; %d rounds x %d processes; load average %s before, %s after; ", r.Subject, r.Title, r.Unit,
		r.CPU, r.Time[:10], r.Rounds, r.Fresh, r.Load[0], r.Load[1])
	if r.Checked {
		fmt.Fprint(w, "results checked against float64.\n\n")
	} else {
		fmt.Fprint(w, "no results to check.\n\n")
	}
	further := r.further()
	head := append([]string{"case", "threads", "contender", "median", "min", "max", "ours/peer", "best/best", "allocations"}, further...)
	fmt.Fprintf(w, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	for _, x := range r.Rows {
		name := x.Contender
		if v := r.Versions[name]; v != "" && name != ours && !strings.HasPrefix(name, "OpenBLAS") {
			name += " " + v
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s | %s | %s |", x.Case, x.Threads, name,
			short(x.Median), short(x.Min), short(x.Max), r.ratio(x, middle), r.ratio(x, r.best), x.allocs())
		for _, name := range further {
			fmt.Fprintf(w, " %s |", x.more(name))
		}
		fmt.Fprintln(w)
	}
	for _, line := range r.means() {
		fmt.Fprintf(w, "\n%s\n", line)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(w, "\nLeft out: %s\n", m)
	}
}

// shares writes the percentage of the measured ceiling that our products reach.
func (r *result) shares(w *bytes.Buffer, results string) {
	c, err := readResult(results, "ceilings")
	if err != nil {
		return
	}
	ceiling := map[int]float64{}
	for _, x := range append(c.Rows, r.Rows...) {
		if memory := strings.HasSuffix(x.Case, "B"); x.Contender == ours && !memory {
			ceiling[x.Threads] = max(ceiling[x.Threads], x.Max)
		}
	}
	fmt.Fprint(w, "\nShare of the best block of any of our products, best blocks:\n\n| case | threads | GFLOP/s | share |\n|---|---|---|---|\n")
	for _, x := range r.Rows {
		if x.Contender == ours && ceiling[x.Threads] > 0 {
			fmt.Fprintf(w, "| %s | %d | %s | %.2f |\n", x.Case, x.Threads, short(x.Max), x.Max/ceiling[x.Threads])
		}
	}
}
