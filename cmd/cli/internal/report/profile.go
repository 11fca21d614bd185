package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// OpTime is the time that all nodes of one op took in the traced step.
type OpTime struct {
	Op    string  `json:"op"`
	Nodes int     `json:"nodes"`
	MS    float64 `json:"ms"`
}

// StepTime says where the time of one step went.
type StepTime struct {
	StepMS  float64  `json:"step_ms"`
	InputMS float64  `json:"input_and_hooks_ms"` // between the previous step and this one
	Ops     []OpTime `json:"ops"`                // the slowest first
}

// mostTrace limits the size of a trace.
const mostTrace = 64 << 20

// readStepTime reads the trace of a step that training with --profile wrote; nil if there is none.
func readStepTime(path string) (*StepTime, error) {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var trace struct {
		TraceEvents []struct {
			Name string  `json:"name"`
			Cat  string  `json:"cat"`
			Dur  float64 `json:"dur"` // microseconds
			TID  int     `json:"tid"`
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(io.LimitReader(f, mostTrace)).Decode(&trace); err != nil {
		return nil, fmt.Errorf("%s: expected a trace as train --profile writes it: %w", path, err)
	}
	s := &StepTime{}
	byOp := map[string]*OpTime{}
	for _, e := range trace.TraceEvents {
		switch {
		case e.Cat == "loop" && e.Name == "step":
			s.StepMS = e.Dur / 1e3
		case e.Cat == "loop":
			s.InputMS += e.Dur / 1e3
		default:
			o := byOp[e.Cat]
			if o == nil {
				o = &OpTime{Op: e.Cat}
				byOp[e.Cat] = o
			}
			o.Nodes++
			o.MS += e.Dur / 1e3
		}
	}
	for _, o := range byOp {
		s.Ops = append(s.Ops, *o)
	}
	slices.SortFunc(s.Ops, func(a, b OpTime) int { return cmp.Or(cmp.Compare(b.MS, a.MS), cmp.Compare(a.Op, b.Op)) })
	return s, nil
}

// stepSection shows where the time of a step went.
func (r *Run) stepSection() ([]section, error) {
	st := r.Step
	if st == nil || len(st.Ops) == 0 {
		return nil, nil
	}
	s := section{Title: "Where the time of a step goes", Notes: []string{"One step of training with --profile (profile.json)."}}
	ops := 0.0
	t := table{Left: 1, Head: []string{"op", "nodes", "ms", "share of step and input %"}}
	whole := st.StepMS + st.InputMS
	share := func(ms float64) string { return fmt.Sprintf("%.1f", 100*ms/max(whole, 1e-9)) }
	var names []string
	var values []float64
	bar := func(name string, ms float64) {
		if len(names) < mostBars {
			names, values = append(names, brief(name)), append(values, ms)
		}
	}
	bar("input and hooks", st.InputMS)
	for _, o := range st.Ops {
		ops += o.MS
		t.Rows = append(t.Rows, []string{o.Op, fmt.Sprint(o.Nodes), number(o.MS), share(o.MS)})
		bar(o.Op, o.MS)
	}
	t.Rows = append(t.Rows, []string{"outside of ops", "", number(max(st.StepMS-ops, 0)), share(max(st.StepMS-ops, 0))},
		[]string{"input and hooks, before the step", "", number(st.InputMS), share(st.InputMS)},
		[]string{"step and input", "", number(whole), share(whole)})
	s.Tables = []table{t}
	c, err := bars("steptime", "Time of a step", "ms", names, values, true)
	c.Tall = len(names) > 10
	s.Charts = []chart{c}
	return []section{s}, err
}
