package metrics

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// Smoothing says which number of matching n-grams counts if none matches. The names are
// sacrebleu's.
type Smoothing string

// The smoothing methods.
const (
	SmoothNone Smoothing = "none" // nothing: the score is 0
	SmoothExp  Smoothing = "exp"  // 1/2 of an n-gram, 1/4 the next time, and so on
)

// BLEUOptions are the parameters of NewBLEU; the zero value is sacrebleu's default.
type BLEUOptions struct {
	MaxOrder  int       // length of the longest n-grams; 0: 4
	Smoothing Smoothing // "": SmoothExp
	End       *int64    // the id that ends a sentence; nil: none
}

// BLEU scores a corpus of translations against references (Papineni et al., 2002): the geometric mean of the
// shares of n-grams that also occur in a reference, times a penalty for translations that are too short. It equals
// sacrebleu's corpus_bleu for tokenized sentences, except that sacrebleu multiplies by 100. NLTK differs for sentences
// with fewer tokens than the longest n-grams: it counts one n-gram for each.
type BLEU struct {
	state // matches and n-grams by length, then the lengths of translations and references
	order int
	end   *int64
	exp   bool
}

// maxOrder bounds the n-grams of a BLEU.
const maxOrder = 16

// NewBLEU returns a BLEU. Update takes references, translations[, weights]: token ids, [batch, steps] each, with any number of
// steps. A sentence ends before the first End; ids below 0 are padding and do not count. References of shape
// [batch, references, steps] are several for each sentence; one that is all padding does not count.
// A weight says how many times a sentence counts.
func NewBLEU(o BLEUOptions) (*BLEU, error) {
	if o.MaxOrder == 0 {
		o.MaxOrder = 4
	}
	if o.Smoothing == "" {
		o.Smoothing = SmoothExp
	}
	if o.MaxOrder < 1 || o.MaxOrder > maxOrder {
		return nil, fmt.Errorf("bleu: %w: expected max_order in [1, %d], got %d", ErrParameter, maxOrder, o.MaxOrder)
	}
	if o.Smoothing != SmoothNone && o.Smoothing != SmoothExp {
		return nil, fmt.Errorf("bleu: %w: expected smoothing %s or %s, got %q", ErrParameter, SmoothNone, SmoothExp, o.Smoothing)
	}
	kind := fmt.Sprintf("bleu(max_order=%d, smoothing=%s", o.MaxOrder, o.Smoothing)
	if o.End != nil {
		kind += fmt.Sprintf(", end=%d", *o.End)
	}
	return &BLEU{newState(kind+")", 2*o.MaxOrder+2), o.MaxOrder, o.End, o.Smoothing == SmoothExp}, nil
}

// Update implements Accumulator.
func (m *BLEU) Update(ts ...*tensor.Tensor) error {
	c, err := newCorpus(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	for i := range c.sentences {
		m.add(c.weights.at(i), m.tokens(c.translation(i)), m.references(c, i))
	}
	return nil
}

// references returns a sentence's non-empty references or, if all are empty, one of them.
func (m *BLEU) references(c corpus, i int) [][]int64 {
	var out [][]int64
	for r := range c.references {
		if s := m.tokens(c.reference(i, r)); len(s) > 0 {
			out = append(out, s)
		}
	}
	if out == nil {
		return [][]int64{{}}
	}
	return out
}

// tokens returns the tokens of a row of ids, without end and padding.
func (m *BLEU) tokens(row []int64) []int64 {
	out := make([]int64, 0, len(row))
	for _, id := range row {
		if m.end != nil && id == *m.end {
			break
		}
		if id >= 0 {
			out = append(out, id)
		}
	}
	return out
}

// add counts a sentence.
func (m *BLEU) add(weight float64, translation []int64, references [][]int64) {
	for n := 1; n <= m.order; n++ {
		most := map[string]int{} // the most times that each n-gram occurs in one reference
		for _, r := range references {
			for gram, count := range ngrams(r, n) {
				most[gram] = max(most[gram], count)
			}
		}
		matches := 0
		for gram, count := range ngrams(translation, n) {
			matches += min(count, most[gram])
		}
		m.sums[n-1] += weight * float64(matches)
		m.sums[m.order+n-1] += weight * float64(max(0, len(translation)-n+1))
	}
	m.sums[2*m.order] += weight * float64(len(translation))
	m.sums[2*m.order+1] += weight * float64(closest(len(translation), references))
}

// ngrams counts the n-grams of a sentence.
func ngrams(s []int64, n int) map[string]int {
	if len(s) < n {
		return nil
	}
	bytes := make([]byte, 0, 8*len(s))
	for _, id := range s {
		bytes = binary.LittleEndian.AppendUint64(bytes, uint64(id))
	}
	out := make(map[string]int, len(s)-n+1)
	for i := range len(s) - n + 1 {
		out[string(bytes[8*i:8*(i+n)])]++
	}
	return out
}

// closest returns the length of the reference that differs least from n, the shorter of two.
func closest(n int, references [][]int64) int {
	best := len(references[0])
	for _, r := range references[1:] {
		d, least := abs(len(r)-n), abs(best-n)
		if d < least || d == least && len(r) < best {
			best = len(r)
		}
	}
	return best
}

func abs(x int) int { return max(x, -x) }

// Result implements Accumulator.
func (m *BLEU) Result() Value {
	matches, all := m.sums[:m.order], m.sums[m.order:2*m.order]
	translated, referred := m.sums[2*m.order], m.sums[2*m.order+1]
	if matches[0] == 0 { // longer n-grams have no matches either
		return scalar(0)
	}
	logs, smoothed := 0.0, 1.0
	for n := range matches {
		matched := matches[n]
		if matched == 0 && m.exp {
			smoothed /= 2
			matched = smoothed
		}
		if matched == 0 || all[n] == 0 {
			return scalar(0)
		}
		logs += math.Log(matched / all[n])
	}
	penalty := 0.0
	if translated < referred {
		penalty = 1 - referred/translated
	}
	return scalar(math.Exp(logs/float64(m.order) + penalty))
}

// corpus is one batch of sentences.
type corpus struct {
	sentences, references int
	from, to              []int64
	weights               weighting
}

func (c corpus) translation(i int) []int64 { return row(c.to, i, c.sentences) }

func (c corpus) reference(i, r int) []int64 {
	return row(c.from, i*c.references+r, c.sentences*c.references)
}

// row returns row i of n.
func row(ids []int64, i, n int) []int64 {
	width := len(ids) / n
	return ids[i*width : (i+1)*width]
}

// newCorpus reads the arguments references, translations[, weights].
func newCorpus(ts []*tensor.Tensor) (c corpus, err error) {
	a, weights, err := splitArgs(ts)
	if err != nil {
		return c, err
	}
	from, to := a.labels.Shape, a.predictions.Shape
	if len(from) < 1 || len(from) > 3 || len(to) < 1 || len(to) > 2 || from[0] != to[0] {
		return c, fmt.Errorf("expected references [batch, steps] or [batch, references, steps] and predictions [batch, steps] of one batch, got %v and %v", from, to)
	}
	c.sentences, c.references = to[0], 1
	if len(from) == 3 {
		c.references = from[1]
	}
	if c.from, err = classIDs("labels", a.labels, 0); err != nil {
		return c, err
	}
	if c.to, err = classIDs("predictions", a.predictions, 0); err != nil {
		return c, err
	}
	if len(c.from) == 0 {
		c.references = 0
	}
	c.weights, err = newWeighting(weights, to[:1])
	return c, err
}
