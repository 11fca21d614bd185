package assess

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Example is a row whose prediction is among the worst.
type Example struct {
	Row       int64   `json:"row"` // in the order of the data, from 0
	Loss      Number  `json:"loss"`
	Label     string  `json:"label"`
	Predicted string  `json:"predicted"`
	Inputs    []Value `json:"inputs"`
}

// Value is an input of an example, as text or as a picture.
type Value struct {
	Name string `json:"name"`
	Text string `json:"value,omitempty"`
	PNG  []byte `json:"png,omitempty"`
}

// worst keeps the examples with the greatest losses.
type worst struct {
	n    int
	list []Example
}

func newWorst(n int) *worst { return &worst{n: n} }

// wants reports whether an example with this loss is among the worst so far; among equal losses the first stays.
func (w *worst) wants(loss float64) bool {
	return w.n > 0 && (len(w.list) < w.n || loss > float64(w.list[0].Loss))
}

func (w *worst) add(e Example) {
	if len(w.list) == w.n {
		heap.Pop(w)
	}
	heap.Push(w, e)
}

// sorted are the examples, the worst first.
func (w *worst) sorted() []Example {
	out := slices.Clone(w.list)
	slices.SortFunc(out, func(a, b Example) int { return cmp.Or(cmp.Compare(b.Loss, a.Loss), cmp.Compare(a.Row, b.Row)) })
	return out
}

// Len, Less, Swap, Push and Pop implement heap.Interface; the least loss comes first.
func (w *worst) Len() int { return len(w.list) }

// Less orders by loss; among equal losses the later row comes first.
func (w *worst) Less(i, j int) bool {
	a, b := w.list[i], w.list[j]
	return a.Loss < b.Loss || a.Loss == b.Loss && a.Row > b.Row
}

// Swap swaps two examples.
func (w *worst) Swap(i, j int) { w.list[i], w.list[j] = w.list[j], w.list[i] }

// Push appends an example.
func (w *worst) Push(x any) { w.list = append(w.list, x.(Example)) }

// Pop removes the last example.
func (w *worst) Pop() any {
	e := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	return e
}

// Limits on what is shown of an example's inputs.
const (
	mostInputs   = 100
	mostElements = 8
	mostText     = 200
)

// example describes a row and its prediction.
func (h *head) example(row fedRow, n int64, p estimator.Prediction, label *tensor.Tensor, loss float64, o Options) Example {
	e := Example{Row: n, Loss: Number(loss), Label: h.labelText(label), Predicted: h.predictedText(p)}
	for _, c := range row.columns {
		if c.Role != inputs.Feature || len(e.Inputs) == mostInputs {
			continue
		}
		value := Value{Name: c.Name}
		one := c.Row(row.i)
		if value.PNG = picture(one, o.Pixels); value.PNG == nil {
			value.Text = text(one, o.Words[c.Name])
		}
		e.Inputs = append(e.Inputs, value)
	}
	return e
}

func (h *head) labelText(label *tensor.Tensor) string {
	if h.kind == KindRegression || label.DType == tensor.String {
		return text(label, nil)
	}
	if h.kind != KindMultiLabel {
		var names []string
		for i := range min(label.Len(), mostElements) {
			if k, ok := h.class(label, i); ok {
				names = append(names, h.names[k])
			}
		}
		return shorten(strings.Join(names, " "), label.Len() > mostElements)
	}
	h.several(label)
	var names []string
	for k, y := range h.hot {
		if y == 1 {
			names = append(names, h.names[k])
		}
	}
	return shorten(strings.Join(names[:min(len(names), mostElements)], ", "), len(names) > mostElements)
}

func (h *head) predictedText(p estimator.Prediction) string {
	given := p.Get(h.key)
	if h.kind == KindRegression {
		return text(given, nil)
	}
	if len(given.Shape) == 2 {
		return fmt.Sprintf("%d steps", given.Shape[0])
	}
	h.fill(given, nil, 0)
	if h.kind == KindMultiLabel {
		var names []string
		for k, x := range h.probabilities {
			if x > 0.5 {
				names = append(names, fmt.Sprintf("%s (%.3g)", h.names[k], x))
			}
		}
		return shorten(strings.Join(names[:min(len(names), mostElements)], ", "), len(names) > mostElements)
	}
	k := most(h.probabilities)
	return fmt.Sprintf("%s (%.4g)", h.names[k], h.probabilities[k])
}

// text shows a value. Ids from a vocabulary are shown as words.
func text(t *tensor.Tensor, words []string) string {
	var parts []string
	n := t.Len()
	for i := range min(n, mostElements) {
		switch {
		case t.DType == tensor.String:
			parts = append(parts, strings.ToValidUTF8(string(t.Strings[i]), "\uFFFD"))
		case len(words) > 0 && t.Int(i) >= 0 && t.Int(i) < int64(len(words)):
			parts = append(parts, words[t.Int(i)])
		case t.DType.Float():
			parts = append(parts, strconv.FormatFloat(t.Float(i), 'g', 6, 64))
		default:
			parts = append(parts, strconv.FormatInt(t.Int(i), 10))
		}
	}
	return shorten(strings.Join(parts, " "), n > mostElements)
}

// shorten limits the length of a text, and marks where something is left out.
func shorten(s string, more bool) string {
	if runes := []rune(s); len(runes) > mostText {
		s, more = string(runes[:mostText]), true
	}
	if more {
		s += " …"
	}
	return s
}
