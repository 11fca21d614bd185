package feature

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/frequent"
	"github.com/goestimator/goestimator/internal/runtime/trees"
)

const (
	sketchError  = 0.001
	countedKinds = 1 << 20 // most different values that are counted
	countedBytes = 1 << 28 // most bytes of different strings that are counted, each with wordBytes more
	wordBytes    = 64
	mostBuckets  = 1 << 12
	mostMedians  = 64 // for one column: each has a sketch of megabytes
)

// statistic is computed from the values of a feature.
type statistic interface {
	add(c *cells) error
}

// statistics maps the key of a feature to its statistics.
type statistics map[string][]statistic

// statisticsFor returns the statistics that declarations need. They are still empty.
func statisticsFor(specs []Spec, schema *inputs.Schema) (statistics, error) {
	out := statistics{}
	numeric := map[string]Spec{}
	for i, s := range specs {
		if s.Type == "numeric" {
			numeric[s.columnName()] = s
		}
		if !s.adapts() {
			continue
		}
		key, err := s.adaptedKey(numeric)
		if err == nil {
			_, err = schema.Column(key)
		}
		if err != nil {
			return nil, fmt.Errorf("adapt: feature column %d (%s): %w", i+1, s.label(), err)
		}
		of := s
		if s.Quantiles > 0 {
			of = numeric[s.Of]
		}
		if err := of.reading().check(shapeSize(of.Shape)); err != nil {
			return nil, fmt.Errorf("adapt: feature column %d (%s): %w", i+1, s.label(), err)
		}
		out.want(s, key, of.reading())
	}
	return out, nil
}

// adaptedKey checks the declaration, and returns the feature that the column is adapted to.
func (s Spec) adaptedKey(numeric map[string]Spec) (string, error) {
	if err := s.checkFields(); err != nil {
		return "", err
	}
	switch {
	case s.Sequence:
		return "", fmt.Errorf("a sequence is not adapted to data: write its numbers or its vocabulary out")
	case s.Normalize.Adapt && len(s.Normalize.Mean)+len(s.Normalize.Std) > 0:
		return "", fmt.Errorf("normalize.adapt excludes mean and std")
	case s.Missing == missingLargest && s.Normalize.Adapt:
		return "", errLargestNormalized
	case s.imputes() && (s.Default != nil || len(s.Defaults) > 0):
		return "", fmt.Errorf("missing: %s excludes default and defaults", s.Missing)
	case s.Adapt && len(s.Vocabulary) > 0:
		return "", fmt.Errorf("adapt excludes vocabulary")
	case s.Quantiles > 0 && len(s.Boundaries) > 0:
		return "", fmt.Errorf("quantiles exclude boundaries")
	case s.Quantiles == 1 || s.Quantiles > mostBuckets:
		return "", fmt.Errorf("quantiles: expected 2 to %d, got %d", mostBuckets, s.Quantiles)
	case !s.finite():
		return "", fmt.Errorf("default, defaults and normalize.scale of a column that is adapted to data must be finite: missing says what stands for missing numbers")
	case s.Missing == missingMedian && shapeSize(s.Shape) > mostMedians:
		return "", fmt.Errorf("missing: median of shape %v: expected at most %d numbers an example, since each takes much memory: use mean", s.Shape, mostMedians)
	case s.Quantiles == 0:
		return s.Key, noKey(s.Key)
	}
	of, ok := numeric[s.Of]
	if !ok {
		return "", fmt.Errorf("column %q: expected a numeric column that is declared before", s.Of)
	}
	if shapeSize(of.Shape) != 1 {
		return "", fmt.Errorf("quantiles of a column of shape %v: expected one number an example", of.Shape)
	}
	return of.Key, nil
}

// finite reports whether the numbers can be stored in a checkpoint, as JSON.
func (s Spec) finite() bool {
	numbers := append([]float64{s.Normalize.Scale}, s.Defaults...)
	if s.Default != nil {
		numbers = append(numbers, *s.Default)
	}
	return !slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// want adds the statistics that a declaration needs.
func (s statistics) want(spec Spec, key string, r Reading) {
	if spec.Adapt {
		if s.values(key, spec.counted()) == nil {
			s[key] = append(s[key], &valueCounts{of: spec.counted(), counts: frequent.NewOfBytes(countedKinds, countedBytes, func(s string) int { return len(s) + wordBytes })})
		}
		return
	}
	if spec.Quantiles > 0 || spec.Missing == missingMedian {
		s.numbers(key, r).sketched = true
	}
	if spec.Missing == missingFrequent {
		s.numbers(key, r).counted = true
	}
	if spec.Normalize.Adapt {
		s[key] = append(s[key], &moments{read: r, normalizer: spec.Normalize.before()})
	}
	s.numbers(key, r)
}

// numbers returns the summary of a feature's numbers as read by r, a new one if there is none.
func (s statistics) numbers(key string, r Reading) *numberSummary {
	for _, x := range s[key] {
		if n, ok := x.(*numberSummary); ok && n.moments.read == r {
			return n
		}
	}
	n := &numberSummary{moments: moments{read: r}}
	s[key] = append(s[key], n)
	return n
}

// counted says what an adapted vocabulary counts: whole values, or words.
type counted struct {
	words, marks bool
	most         int // most words in a run
}

func (s Spec) counted() counted {
	if s.Type != "words" {
		return counted{}
	}
	return counted{words: true, marks: s.Punctuation == punctuationWords, most: max(s.NGrams, 1)}
}

// values returns the counts of a feature's values, or of their words; nil if there are none.
func (s statistics) values(key string, of counted) *valueCounts {
	for _, x := range s[key] {
		if v, ok := x.(*valueCounts); ok && v.of == of {
			return v
		}
	}
	return nil
}

// before returns what happens to numbers before mean and std.
func (n NormalizeSpec) before() Normalizer { return Normalizer{Scale: float32(n.Scale), Log: n.Log} }

// moments are mean and variance of each number of an example.
type moments struct {
	read       Reading
	normalizer Normalizer // applied before
	n          []float64
	mean, m2   []float64
}

func (m *moments) add(c *cells) error {
	x, err := denseNumbers(c, m.read)
	if err != nil {
		return err
	}
	m.addNumbers(c, x)
	return nil
}

// denseNumbers returns the numbers of a feature that is not ragged.
func denseNumbers(c *cells, r Reading) ([]float32, error) {
	if c.offsets != nil {
		return nil, fmt.Errorf("a ragged feature is not adapted to data: write its numbers out")
	}
	if r.Part != "" {
		return r.numbers(c, nil)
	}
	return c.floats()
}

func (m *moments) addNumbers(c *cells, x []float32) {
	if m.n == nil {
		m.n, m.mean, m.m2 = make([]float64, c.width), make([]float64, c.width), make([]float64, c.width)
	}
	one := make([]float32, 1)
	for i, v := range x {
		if isMissing(c, i, v) {
			continue
		}
		one[0] = v
		m.normalizer.apply(one, 1)
		v := float64(one[0])
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		j := i % c.width // Welford's method
		m.n[j]++
		d := v - m.mean[j]
		m.mean[j] += d / m.n[j]
		m.m2[j] += d * (v - m.mean[j])
	}
}

// deviations returns the standard deviations, 1 for constant numbers.
func (m *moments) deviations() []float64 {
	out := make([]float64, len(m.m2))
	for j, v := range m.m2 {
		out[j] = 1
		if d := math.Sqrt(v / m.n[j]); float32(d) > 0 {
			out[j] = d
		}
	}
	return out
}

// isMissing reports whether number i of a feature, v, is missing.
func isMissing(c *cells, i int, v float32) bool { return v != v || c.missing != nil && c.missing[i] }

// numberSummary has what imputation and buckets need: moments, quantiles and counts of each number of an example.
type numberSummary struct {
	moments           moments
	sketched, counted bool
	sketches          []*trees.Sketch
	counts            []*frequent.Counter[float32]
	missing           int64
}

func (n *numberSummary) add(c *cells) error {
	x, err := denseNumbers(c, n.moments.read)
	if err != nil {
		return err
	}
	n.moments.addNumbers(c, x)
	if err := n.begin(c.width); err != nil {
		return err
	}
	for i, v := range x {
		switch j := i % c.width; {
		case isMissing(c, i, v):
			n.missing++
		case math.IsInf(float64(v), 0):
		default:
			if n.sketched {
				n.sketches[j].Push(x[i:i+1], 1, nil)
			}
			if n.counted {
				n.counts[j].Add(v)
			}
		}
	}
	return nil
}

// begin makes the sketches and counters for width numbers per example.
func (n *numberSummary) begin(width int) error {
	if n.sketched && width > mostMedians {
		return fmt.Errorf("%d numbers an example: expected at most %d where their medians or quantiles are taken", width, mostMedians)
	}
	for n.sketched && len(n.sketches) < width {
		n.sketches = append(n.sketches, trees.NewSketch(sketchError))
	}
	for n.counted && len(n.counts) < width {
		n.counts = append(n.counts, frequent.New[float32](countedKinds/width))
	}
	return nil
}

// exact reports whether all values were counted.
func (n *numberSummary) exact() bool {
	return !slices.ContainsFunc(n.counts, func(c *frequent.Counter[float32]) bool { return !c.Exact() })
}

// stand returns the replacements for missing numbers, 0 if no number was present.
func (n *numberSummary) stand(how string) []float64 {
	out := make([]float64, len(n.moments.mean))
	for j := range out {
		switch how {
		case missingMean:
			out[j] = n.moments.mean[j]
		case missingMedian:
			out[j] = n.sketches[j].Quantile(0.5)
		default:
			if top := n.counts[j].Top(1); len(top) > 0 {
				out[j] = float64(top[0].Value)
			}
		}
		if math.IsNaN(out[j]) {
			out[j] = 0
		}
	}
	return out
}

// valueCounts counts strings or integers.
type valueCounts struct {
	of      counted
	counts  *frequent.Counter[string]
	missing int64
}

func (v *valueCounts) add(c *cells) error {
	t, err := c.texts()
	if err != nil {
		return v.addInts(c)
	}
	for i := range c.count {
		switch s := t.value(i); {
		case v.of.words:
			v.addWords(s)
		case len(s) == 0 || c.missing != nil && c.missing[i]:
			v.missing++
		case !utf8.Valid(s): // checkpoints store a vocabulary as text
			return fmt.Errorf("the value %.40q is not UTF-8, as those of an adapted vocabulary must be: save the data so, for example with iconv -f LATIN1 -t UTF-8, or use hash_bucket", s)
		default:
			v.counts.Add(string(s))
		}
	}
	return nil
}

// addWords counts the words of a text. It leaves out words that are not UTF-8, since a checkpoint cannot store them.
func (v *valueCounts) addWords(text []byte) {
	if len(text) == 0 {
		v.missing++
	}
	words := wordReader{marks: v.of.marks, most: v.of.most}
	words.each(text, func(word []byte) {
		if utf8.Valid(word) {
			v.counts.Add(string(word))
		}
	})
}

func (v *valueCounts) addInts(c *cells) error {
	x, err := c.ints()
	for i, n := range x {
		if n == -1 || c.missing != nil && c.missing[i] {
			v.missing++
		} else {
			v.counts.Add(strconv.FormatInt(n, 10))
		}
	}
	return err
}
