package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// Kind is what a head predicts.
type Kind string

// The kinds.
const (
	KindBinaryClass Kind = "binary"
	KindMultiClass  Kind = "multi_class"
	KindMultiLabel  Kind = "multi_label"
	KindRegression  Kind = "regression"
)

// The predictions that assess understands, with the names that tf.estimator's heads give them.
const (
	keyProbabilities = "probabilities"
	keyLogistic      = "logistic"
	keyPredictions   = "predictions"
	keyLogits        = "logits"
	keyAllClasses    = "all_classes"
	keyClasses       = "classes"
)

// head reads the predictions of one head. If there are several heads, their names start with the head's name and a slash.
type head struct {
	name, key string // key is the prediction that it reads
	label     string // column
	kind      Kind
	classes   int
	names     []string

	counts  *classCounts
	numbers *residuals

	probabilities, logits, hot []float64 // of one case
	worst                      *worst
}

// findHeads derives the heads of a model from a prediction and the data's schema.
func findHeads(p estimator.Prediction, s *inputs.Schema, classes []string) (list []*head, notes []string) {
	labels := s.ByRole(inputs.Label)
	for _, name := range p.Names() {
		prefix, base := "", name
		if i := strings.LastIndex(name, "/"); i >= 0 {
			prefix, base = name[:i+1], name[i+1:]
		}
		switch {
		case base == keyProbabilities, base == keyPredictions:
		case base == keyLogistic && p.Get(prefix+keyProbabilities) == nil && p.Get(prefix+keyPredictions) == nil:
		default:
			continue
		}
		h := &head{name: strings.TrimSuffix(prefix, "/"), key: name}
		if base == keyPredictions {
			if p.Get(name).DType == tensor.String {
				continue
			}
			h.kind = KindRegression
		}
		label, err := labelOf(h.name, labels)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		h.label = label.Name
		if h.kind == "" {
			h.classify(p, label, prefix, classes)
		}
		list = append(list, h)
	}
	if len(list) == 0 && len(notes) == 0 {
		notes = append(notes, fmt.Sprintf("the model predicts %s: expected %s, %s or %s, as heads name them", strings.Join(p.Names(), ", "), keyProbabilities, keyLogistic, keyPredictions))
	}
	return list, notes
}

// labelOf is the label of a head: the label with its name, or the only one.
func labelOf(head string, labels []inputs.Column) (inputs.Column, error) {
	if i := slices.IndexFunc(labels, func(c inputs.Column) bool { return c.Name == head }); i >= 0 {
		return labels[i], nil
	}
	switch {
	case len(labels) == 0:
		return inputs.Column{}, fmt.Errorf("the data has no label: nothing can be compared with it")
	case len(labels) > 1:
		return inputs.Column{}, fmt.Errorf("the data has %d labels, none of the name %q of a head", len(labels), head)
	}
	return labels[0], nil
}

// classify determines the kind of classification, and the classes.
func (h *head) classify(p estimator.Prediction, label inputs.Column, prefix string, classes []string) {
	shape := p.Get(h.key).Shape
	h.classes = 1
	if len(shape) > 0 {
		h.classes = shape[len(shape)-1]
	}
	steps := len(shape) == 2
	switch {
	case h.classes == 1:
		h.classes, h.kind = 2, KindBinaryClass
	case !steps && (label.Ragged || h.classes > 2 && label.Size() == h.classes):
		h.kind = KindMultiLabel
	case h.classes == 2:
		h.kind = KindBinaryClass
	default:
		h.kind = KindMultiClass
	}
	words := p.Get(prefix + keyAllClasses)
	if words == nil && h.kind == KindMultiLabel {
		words = p.Get(prefix + keyClasses)
	}
	if h.names = classes; words != nil && words.DType == tensor.String && words.Len() == h.classes {
		h.names = nil
		for _, w := range words.Strings {
			h.names = append(h.names, string(w))
		}
	}
	h.names = classNames(h.names, h.classes)
	h.probabilities, h.logits, h.hot = make([]float64, h.classes), make([]float64, h.classes), make([]float64, h.classes)
}

// begin allocates the sums.
func (h *head) begin(worst int) {
	h.worst = newWorst(worst)
	if h.kind == KindRegression {
		h.numbers = newResiduals()
		return
	}
	h.counts = newClassCounts(h.classes, h.kind == KindMultiLabel)
}

// verdict compares one prediction with its label.
type verdict struct {
	cases int     // of the row: one, or one for each step of a sequence
	loss  float64 // mean over the cases
	right float64 // share of cases predicted right; 0 for regression
	bad   string  // why the row cannot be compared
	// For regression: the sum of squared errors.
	squares float64
}

// judge compares a prediction with its label. If count is set, the sums include it.
func (h *head) judge(p estimator.Prediction, label *tensor.Tensor, weight float64, count bool) verdict {
	given := p.Get(h.key)
	if h.kind == KindRegression {
		return h.judgeNumbers(given, label, weight, count)
	}
	logits := p.Get(strings.TrimSuffix(h.key, lastPart(h.key)) + keyLogits)
	n := 1 // cases
	if len(given.Shape) == 2 {
		n = min(given.Shape[0], label.Len())
	}
	v := verdict{cases: n}
	for i := range n {
		if !h.fill(given, logits, i) {
			return verdict{bad: "a prediction is not finite"}
		}
		k := -1
		var ok bool
		if h.kind == KindMultiLabel {
			ok = h.several(label)
		} else {
			k, ok = h.class(label, i)
		}
		if !ok {
			return verdict{bad: "a label is none of the classes"}
		}
		loss := h.loss(k, logits != nil)
		v.loss += loss
		if h.kind == KindMultiLabel {
			v.right += agreeing(h.probabilities, h.hot)
		} else {
			v.right += indicator(most(h.probabilities) == k)
		}
		if count {
			h.counts.add(h.probabilities, k, h.hot, loss, weight)
		}
	}
	if n > 0 {
		v.loss, v.right = v.loss/float64(n), v.right/float64(n)
	}
	return v
}

func lastPart(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// fill reads the probabilities and logits of a case; it returns false if any is not finite.
func (h *head) fill(given, logits *tensor.Tensor, i int) bool {
	read := func(out []float64, t *tensor.Tensor, one func(float64) (first, second float64)) {
		if len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] == 1 {
			out[0], out[1] = one(t.Float(i))
			return
		}
		for k := range out {
			out[k] = t.Float(i*len(out) + k)
		}
	}
	read(h.probabilities, given, func(p float64) (float64, float64) { return 1 - p, p })
	if logits != nil {
		read(h.logits, logits, func(z float64) (float64, float64) { return 0, z })
	}
	for k := range h.probabilities {
		if !finite(h.probabilities[k]) || logits != nil && !finite(h.logits[k]) {
			return false
		}
	}
	return true
}

// class is the class of a label, which may be a word; false if there is no such class.
func (h *head) class(label *tensor.Tensor, i int) (int, bool) {
	if i >= label.Len() {
		return 0, false
	}
	if label.DType == tensor.String {
		k := slices.Index(h.names, string(label.Strings[i]))
		return k, k >= 0
	}
	x := label.Float(i)
	k := int(x)
	return k, x == math.Trunc(x) && k >= 0 && k < h.classes
}

// several reads the label of a multi-label head into hot.
func (h *head) several(label *tensor.Tensor) bool {
	if label.DType != tensor.String && label.Len() == h.classes && (label.DType.Float() || isIndicator(label)) {
		for k := range h.hot {
			h.hot[k] = label.Float(k)
		}
		return isIndicator(label)
	}
	clear(h.hot)
	for i := range label.Len() {
		if label.DType != tensor.String && label.Int(i) < 0 {
			continue // padding
		}
		k, ok := h.class(label, i)
		if !ok {
			return false
		}
		h.hot[k] = 1
	}
	return true
}

func isIndicator(label *tensor.Tensor) bool {
	for i := range label.Len() {
		if x := label.Float(i); x != 0 && x != 1 {
			return false
		}
	}
	return true
}

// smallest bounds probabilities below, so that their logarithm is finite: the smallest normal float32.
const smallest = 1.17549435e-38

// loss is the cross-entropy of a case, computed from logits if there are any.
func (h *head) loss(k int, logits bool) float64 {
	if h.kind == KindMultiLabel {
		sum := 0.0
		for i, y := range h.hot {
			switch {
			case logits:
				sum += softplus(h.logits[i]) - y*h.logits[i]
			case y == 1:
				sum -= math.Log(max(h.probabilities[i], smallest))
			default:
				sum -= math.Log(max(1-h.probabilities[i], smallest))
			}
		}
		return sum / float64(h.classes)
	}
	if !logits {
		return -math.Log(max(h.probabilities[k], smallest))
	}
	top := slices.Max(h.logits)
	sum := 0.0
	for _, z := range h.logits {
		sum += math.Exp(z - top)
	}
	return top + math.Log(sum) - h.logits[k]
}

// softplus is ln(1+eˣ).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// judgeNumbers is judge for regression.
func (h *head) judgeNumbers(given, label *tensor.Tensor, weight float64, count bool) verdict {
	n := min(given.Len(), label.Len())
	v := verdict{cases: n}
	for i := range n {
		y, p := label.Float(i), given.Float(i)
		if !finite(p) || !finite(y) {
			return verdict{bad: "a prediction or label is not finite"}
		}
		v.squares += square(y - p)
	}
	for i := 0; count && i < n; i++ {
		h.numbers.add(label.Float(i), given.Float(i), weight)
	}
	v.loss = per(v.squares, float64(n))
	return v
}
