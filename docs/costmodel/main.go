// Command costmodel writes the tables and the plot of docs/cost-model.md from
// package costmodel and the recordings of bench/results:
//
//	go run ./docs/costmodel
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/report/costmodel"
	"github.com/goestimator/goestimator/internal/report/plot"
)

const (
	begin = "<!-- costmodel:begin, written by go run ./docs/costmodel -->\n"
	end   = "<!-- costmodel:end -->"
)

func main() {
	results := flag.String("results", "bench/results", "folder of recorded measurements")
	docs := flag.String("docs", "docs", "folder of cost-model.md and its plot")
	steps := flag.Int("steps", 8, "simulated steps of every worker")
	flag.Parse()
	if err := write(*results, *docs, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "costmodel:", err)
		os.Exit(1)
	}
}

// write replaces the text between the marks in docs/cost-model.md, and the plot.
func write(results, docs string, steps int) error {
	document := filepath.Join(docs, "cost-model.md")
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: expected the marks %q and %q", document, strings.TrimSpace(begin), end)
	}
	var w bytes.Buffer
	if err := compared(&w, results); err != nil {
		return err
	}
	var panels []plot.Panel
	for _, s := range scenarios {
		p, err := s.write(&w, steps)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		panels = append(panels, p)
	}
	if err := os.WriteFile(filepath.Join(docs, "cost-model.svg"), plot.SVG(panels...), 0o644); err != nil {
		return err
	}
	return os.WriteFile(document, []byte(before+begin+w.String()+end+after), 0o644)
}

// compared writes the predictions beside the measurements.
func compared(w *bytes.Buffer, results string) error {
	ring, err := costmodel.Load(results, "allreduce")
	if err != nil {
		return err
	}
	if ring == nil {
		fmt.Fprintf(w, "\nNo all-reduce was recorded yet (`go run ./bench -subject allreduce -record`).\n")
		return nil
	}
	network, err := costmodel.Fit(ring)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMeasured %s on %s, %d cores. From the cases marked with *: latency %.3g ms, link %.3g GB/s, all together %.3g GB/s.\n\n",
		ring.Time, ring.CPU, ring.Cores, network.Latency*1e3, network.Bandwidth/1e9, network.Shared/1e9)
	fmt.Fprintf(w, "| case | measured ms | predicted ms | error |\n|---|--:|--:|--:|\n")
	pull, err := costmodel.Load(results, "ps")
	if err != nil {
		return err
	}
	for _, r := range []*costmodel.Recording{ring, pull} {
		if r == nil {
			continue
		}
		for _, c := range costmodel.Compare(r, network) {
			mark := ""
			if c.Fitted {
				mark = " *"
			}
			fmt.Fprintf(w, "| %s %s%s | %.3g | %.3g | %+.0f %% |\n", r.Subject, c.Case, mark, c.Measured*1e3, c.Predicted*1e3, c.Error()*100)
		}
	}
	return nil
}
