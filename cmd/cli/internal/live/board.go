package live

import (
	"encoding/json"
	"math"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/cmd/cli/internal/report"
)

// mostDrawn is the largest number of points drawn of a curve. Of a longer one, the least and the greatest
// value of equal parts are drawn.
const mostDrawn = 500

// Run is the state of a run as the page shows it.
type Run struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Reason  string  `json:"reason,omitempty"`
	Step    int64   `json:"step"`    // -1: unknown
	Seconds float64 `json:"seconds"` // of training
	Damage  string  `json:"damage,omitempty"`
	Curves  []Curve `json:"curves"`
}

// Curve is a scalar of a run, to be drawn.
type Curve struct {
	Run    string     `json:"run"` // "train", or the folder of an evaluation
	Tag    string     `json:"tag"`
	Steps  []int64    `json:"steps"`
	Values []*float64 `json:"values"` // nil: not finite
}

// Draw makes Curves with few enough points to draw.
func Draw(curves []*events.Curve) []Curve {
	out := make([]Curve, 0, len(curves))
	for _, c := range curves {
		d := Curve{Run: report.RunLabel(c.Run), Tag: c.Tag}
		for _, i := range chosen(c.Values) {
			d.Steps = append(d.Steps, c.Steps[i])
			var v *float64
			if x := c.Values[i]; !math.IsNaN(x) && !math.IsInf(x, 0) {
				v = &x
			}
			d.Values = append(d.Values, v)
		}
		out = append(out, d)
	}
	return out
}

// chosen are the indices of the values to draw: all, or the first, the last, and the least and greatest of each part between them.
func chosen(values []float64) []int {
	n := len(values)
	var out []int
	if n <= mostDrawn {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	out = append(out, 0)
	parts := mostDrawn/2 - 1
	for p := range parts {
		from, to := 1+p*(n-2)/parts, 1+(p+1)*(n-2)/parts
		least, most := from, from
		for i := from; i < to; i++ {
			if values[i] < values[least] || math.IsNaN(values[least]) {
				least = i
			}
			if values[i] > values[most] || math.IsNaN(values[most]) {
				most = i
			}
		}
		out = append(out, min(least, most))
		if least != most {
			out = append(out, max(least, most))
		}
	}
	return append(out, n-1)
}

// Board holds the newest state of all runs, encoded once for all readers. It is
// safe for concurrent use; use NewBoard to make one.
type Board struct {
	mu      sync.Mutex
	names   []string
	runs    map[string]posted
	serial  int64
	changed chan struct{} // closed at the next change
}

type posted struct {
	serial int64
	text   []byte
}

// NewBoard returns a Board without runs.
func NewBoard() *Board {
	return &Board{runs: map[string]posted{}, changed: make(chan struct{})}
}

// Post sets the names of all runs, in order, and the state of the runs that
// have changed.
func (b *Board) Post(names []string, changed []Run) error {
	texts := make([][]byte, len(changed))
	for i, r := range changed {
		var err error
		if texts[i], err = json.Marshal(r); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(changed) == 0 && slices.Equal(names, b.names) {
		return nil
	}
	b.names = slices.Clone(names)
	for i, r := range changed {
		b.serial++
		b.runs[r.Name] = posted{b.serial, texts[i]}
	}
	for name := range b.runs {
		if !slices.Contains(names, name) {
			delete(b.runs, name)
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return nil
}

// news returns the names of all runs and the texts of runs posted after serial number after;
// wait is closed at the next change.
func (b *Board) news(after int64) (names []string, texts [][]byte, serial int64, wait <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range b.names {
		if p, ok := b.runs[name]; ok && p.serial > after {
			texts = append(texts, p.text)
		}
	}
	return b.names, texts, b.serial, b.changed
}
