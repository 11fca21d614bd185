package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// report is the content of bench/results/gpu.json.
type report struct {
	Time     string    `json:"time"`
	GPU      string    `json:"gpu"`
	Emulated bool      `json:"emulated,omitempty"`
	PyTorch  string    `json:"pytorch"`
	Ceilings []ceiling `json:"ceilings"`
	Rows     []row     `json:"rows"`
	Missing  []string  `json:"missing,omitempty"`
}

// row is one contender in a case. Times are per step; Milliseconds is the median over blocks.
type row struct {
	Case         string    `json:"case"`
	Batch        int       `json:"batch"`
	Precision    string    `json:"precision"`
	Contender    string    `json:"contender"`
	Milliseconds float64   `json:"ms"`
	Best         float64   `json:"ms_best"`
	Worst        float64   `json:"ms_worst"`
	Blocks       int       `json:"blocks"`
	Steps        int       `json:"steps_per_block"`
	Examples     float64   `json:"examples_per_s"`
	TFLOPS       float64   `json:"tflops"`
	GBs          float64   `json:"gb_per_s"` // as the engine counts bytes: each operand once
	Losses       []float64 `json:"losses"`
	Reference    []float64 `json:"reference_losses"`
	HostSteps    []string  `json:"host_steps,omitempty"` // ops that ran on the host
}

func (r *report) miss(what string, err error) {
	line := what + ": " + err.Error()
	fmt.Println("  " + line)
	r.Missing = append(r.Missing, line)
}

func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "gpu.json"), append(b, '\n'), 0o644)
}

// ratio divides our examples per second by the fastest mode's of the peer; 0 if there is none.
func (r *report) ratio(name string) float64 {
	our, best := 0.0, 0.0
	for _, w := range r.Rows {
		switch {
		case w.Case != name:
		case w.Contender == ours:
			our = w.Examples
		default:
			best = max(best, w.Examples)
		}
	}
	if best == 0 {
		return 0
	}
	return our / best
}

// ceiling is a measured rate; 0 if it was not measured.
func (r *report) ceiling(name string) float64 {
	for _, c := range r.Ceilings {
		if c.Name == name {
			return c.Rate
		}
	}
	return 0
}

func share(part, whole float64) string {
	if whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*part/whole)
}

// print writes Markdown tables.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s; PyTorch %s; %s.\n", r.GPU, r.PyTorch, strings.TrimSuffix(r.Time, "Z"))
	if r.Emulated {
		fmt.Fprint(w, "\nOn the emulated GPU with tiny sizes: the times mean nothing.\n")
	}
	if len(r.Ceilings) > 0 {
		fmt.Fprint(w, "\n| ceiling | measured |\n|---|---|\n")
	}
	for _, c := range r.Ceilings {
		unit := "TFLOP/s, products of 8192 x 8192"
		if c.Name == "memory" {
			unit = "GB/s, copies of 4 GiB, read and written"
		}
		fmt.Fprintf(w, "| %s | %.1f %s |\n", c.Name, c.Rate, unit)
	}
	fmt.Fprint(w, "\n| case | precision | contender | ms/step (best, worst) | examples/s | ours/fastest peer | TFLOP/s | of the matrix rate | of the memory rate |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, x := range r.Rows {
		name, ratio := "PyTorch "+x.Contender, ""
		if x.Contender == ours {
			name = ours
			if q := r.ratio(x.Case); q > 0 {
				ratio = fmt.Sprintf("%.2f", q)
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.4g (%.4g, %.4g) | %.4g | %s | %.3g | %s | %s |\n", x.Case, x.Precision, name, x.Milliseconds, x.Best, x.Worst,
			x.Examples, ratio, x.TFLOPS, share(x.TFLOPS, r.ceiling(x.Precision)), share(x.GBs, r.ceiling("memory")))
	}
	for _, x := range r.Rows {
		if len(x.HostSteps) > 0 {
			fmt.Fprintf(w, "\n%s: %d ops ran on the host: %s\n", x.Case, len(x.HostSteps), strings.Join(x.HostSteps, "; "))
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintf(w, "\nLeft out: %s\n", m)
	}
}

const (
	tablesBegin = "<!-- gpu tables: written by go run ./bench/gpu tables -->\n"
	tablesEnd   = "<!-- end of gpu tables -->\n"
)

// writeTables inserts the recorded tables between their marks in a document.
func writeTables(results, document string) error {
	b, err := os.ReadFile(filepath.Join(results, "gpu.json"))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("nothing is recorded: copy gpu.json, which gpu bench has written on a machine with a GPU, to %s: %w", results, err)
	}
	if err != nil {
		return err
	}
	r := &report{}
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	if r.Emulated {
		return errors.New("the results are those of the emulated GPU: they do not belong into the document")
	}
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), tablesBegin)
	_, after, ok2 := strings.Cut(rest, tablesEnd)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s: expected the lines %q and %q", document, tablesBegin, tablesEnd)
	}
	var w strings.Builder
	r.print(&w)
	return os.WriteFile(document, []byte(before+tablesBegin+"\n"+w.String()+"\n"+tablesEnd+after), 0o644)
}
