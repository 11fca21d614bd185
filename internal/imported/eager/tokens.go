package eager

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// tokenOps divide texts, and count what they are made of, as ONNX Runtime does.
var tokenOps = map[*ops.Def]maker{ops.Tokens: tokens, ops.NgramCounts: ngramCounts}

// Marks of the beginning and the end of a text.
const startMark, endMark = "\x02", "\x03"

// tokenizer divides a text.
type tokenizer struct {
	expression *regexp.Regexp   // of a token; nil: separators divide
	separators []*regexp.Regexp // none: each character is a token
	least      int              // characters of a token
	mark       bool
}

func tokens(s *site) (kernel, error) {
	t := tokenizer{least: s.count("mincharnum", 1, 1<<30), mark: s.boolean("mark", false)}
	pad := []byte(s.str("pad_value", ""))
	compiled := func(text string) *regexp.Regexp {
		re, err := regexp.Compile(text)
		if err != nil {
			s.fail("expression %q: %v", text, err)
			return nil
		}
		re.Longest()
		return re
	}
	if e := s.str("expression", ""); e != "" {
		t.expression = compiled(e)
	}
	for _, e := range list[[]byte](s, "separators") {
		if len(e) > 0 {
			t.separators = append(t.separators, compiled(string(e)))
		}
	}
	return func(c call) error { return t.run(c, pad) }, nil
}

func (t tokenizer) run(c call, pad []byte) error {
	in := c.t(0)
	if err := want("input", in, tensor.String); err != nil {
		return err
	}
	all, most, count := make([][][]byte, in.Len()), 0, 0
	for i, text := range in.Strings {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !utf8.Valid(text) {
			return fmt.Errorf("text %d is not UTF-8", i)
		}
		if err := c.room(len(text)+2, stringHeader); err != nil {
			return err
		}
		all[i] = t.parts(text)
		most, count = max(most, len(all[i])), count+len(text)
	}
	out, err := c.output(0, tensor.String, append(in.Shape[:len(in.Shape):len(in.Shape)], most)...)
	if err != nil {
		return err
	}
	room := c.textRoom()
	if err := room.take(count + len(pad)); err != nil { // parts share their text
		return err
	}
	for i, parts := range all {
		row := out.Strings[i*most : (i+1)*most]
		for k := copy(row, parts); k < most; k++ {
			row[k] = pad
		}
	}
	return nil
}

// parts are the tokens of a text.
func (t tokenizer) parts(text []byte) (all [][]byte) {
	if t.mark {
		all = append(all, []byte(startMark))
	}
	switch {
	case t.expression != nil:
		all = t.matches(all, text)
	case len(t.separators) == 0:
		for len(text) > 0 && t.least <= 1 {
			_, size := utf8.DecodeRune(text)
			all, text = append(all, text[:size:size]), text[size:]
		}
	default:
		all = append(all, t.between(text)...)
	}
	if t.mark {
		all = append(all, []byte(endMark))
	}
	return all
}

// matches adds what the expression matches. The search goes on behind a match, and one character further where it is too short.
func (t tokenizer) matches(all [][]byte, text []byte) [][]byte {
	for at := 0; at <= len(text); {
		m := t.expression.FindIndex(text[at:])
		if m == nil {
			break
		}
		token := text[at+m[0] : at+m[1] : at+m[1]]
		if at += m[1]; utf8.RuneCount(token) >= max(t.least, 1) {
			all = append(all, token)
			continue
		}
		at += m[0] - m[1]
		_, size := utf8.DecodeRune(text[at:])
		at += max(size, 1)
	}
	return all
}

// between are the parts between separators: the first one divides the text, each further one the parts.
func (t tokenizer) between(text []byte) [][]byte {
	parts := [][]byte{text}
	for _, sep := range t.separators {
		var next [][]byte
		for _, p := range parts {
			at := 0
			for _, m := range sep.FindAllIndex(p, -1) {
				if m[0] == m[1] {
					continue
				}
				next, at = append(next, p[at:m[0]:m[0]]), m[1]
			}
			next = append(next, p[at:])
		}
		parts = next
	}
	kept := parts[:0]
	for _, p := range parts {
		if n := utf8.RuneCount(p); n > 0 && n >= t.least {
			kept = append(kept, p)
		}
	}
	return kept
}

// ngramTree has the n-grams of a pool: a node for each beginning, and the column that counts it, -1 for none.
type ngramTree[T comparable] struct {
	longer map[T]*ngramTree[T]
	column int
}

func (n *ngramTree[T]) next(v T) *ngramTree[T] {
	if n.longer == nil {
		n.longer = map[T]*ngramTree[T]{}
	}
	if n.longer[v] == nil {
		n.longer[v] = &ngramTree[T]{column: -1}
	}
	return n.longer[v]
}

// ngramRange are the lengths that count, and how many elements may be left out between two of an n-gram.
type ngramRange struct{ least, most, skips int }

func ngramCounts(s *site) (kernel, error) {
	r := ngramRange{s.count("least", 1, 1<<20), s.count("most", 1, 1<<20), s.count("skips", 0, 1<<20)}
	if r.least < 1 || r.most < r.least {
		return nil, fmt.Errorf("n-grams of %d to %d elements", r.least, r.most)
	}
	return func(c call) error {
		if len(c.in) != 4 || c.t(0).DType != c.t(1).DType {
			return fmt.Errorf("expected input and pool of one type, got %v and %v", c.t(0).DType, c.t(1).DType)
		}
		switch c.t(0).DType {
		case tensor.String:
			return countNgrams(c, r, textsOf(c.t(0)), textsOf(c.t(1)))
		case tensor.Int32:
			return countNgrams(c, r, tensor.Values[int32](c.t(0)), tensor.Values[int32](c.t(1)))
		case tensor.Int64:
			return countNgrams(c, r, tensor.Values[int64](c.t(0)), tensor.Values[int64](c.t(1)))
		}
		return fmt.Errorf("type %v %w", c.t(0).DType, ErrUnsupported)
	}, nil
}

func textsOf(t *tensor.Tensor) []string {
	all := make([]string, t.Len())
	for i, s := range t.Strings {
		all[i] = string(s)
	}
	return all
}

func countNgrams[T comparable](c call, r ngramRange, in, pool []T) error {
	starts, err := c.vector("starts", c.t(2))
	if err != nil {
		return err
	}
	columns, err := c.vector("columns", c.t(3))
	if err != nil {
		return err
	}
	if err := c.room(len(pool)+len(in), 160); err != nil {
		return err
	}
	tree, width, err := poolTree(r, pool, starts, columns)
	if err != nil {
		return err
	}
	shape := c.t(0).Shape
	rows, n := 1, len(in)
	switch len(shape) {
	case 0, 1:
		shape = []int{width}
	case 2:
		rows, n, shape = shape[0], shape[1], []int{shape[0], width}
	default:
		return fmt.Errorf("expected a vector or a matrix, got shape %v", shape)
	}
	dst, err := outputOf[float32](c, 0, shape...)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := countRow(c, r, dst[i*width:(i+1)*width], in[i*n:(i+1)*n], tree); err != nil {
			return err
		}
	}
	return nil
}

// poolTree makes the tree of a pool, and says how many columns there are.
func poolTree[T comparable](r ngramRange, pool []T, starts, columns []int) (*ngramTree[T], int, error) {
	tree, width, next := &ngramTree[T]{column: -1}, 0, 0
	for _, v := range columns {
		if v < 0 || v >= 1<<31-1 {
			return nil, 0, fmt.Errorf("column %d of an n-gram", v)
		}
		width = max(width, v+1)
	}
	for k, at := range starts {
		end := len(pool)
		if k+1 < len(starts) {
			end = starts[k+1]
		}
		if at < 0 || end < at || end > len(pool) || (end-at)%(k+1) != 0 {
			return nil, 0, fmt.Errorf("n-grams of %d elements are at %d to %d of a pool of %d", k+1, at, end, len(pool))
		}
		for ; at < end; at += k + 1 {
			if next >= len(columns) {
				return nil, 0, fmt.Errorf("%d columns: expected one for each n-gram", len(columns))
			}
			if k+1 >= r.least && k+1 <= r.most {
				node := tree
				for _, v := range pool[at : at+k+1] {
					node = node.next(v)
				}
				node.column = columns[next]
			}
			next++
		}
	}
	return tree, width, nil
}

// countRow adds up the n-grams of a row. Single elements count once, whatever is left out.
func countRow[T comparable](c call, r ngramRange, dst []float32, row []T, tree *ngramTree[T]) error {
	least := r.least
	for step := 1; step <= r.skips+1; step++ {
		for from := 0; from+step*(least-1) < len(row); from++ {
			if from%4096 == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			node := tree
			for size, at := 1, from; size <= r.most && at < len(row); size, at = size+1, at+step {
				if node = node.longer[row[at]]; node == nil {
					break
				}
				if size >= least && node.column >= 0 {
					dst[node.column]++
				}
			}
		}
		if least == 1 {
			if least++; least > r.most {
				break
			}
		}
	}
	return nil
}
