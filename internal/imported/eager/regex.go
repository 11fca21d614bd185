package eager

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// regexOps match regular expressions, whose RE2 syntax is also Go's, and split strings.
var regexOps = map[*ops.Def]maker{
	ops.RegexReplace:         regexReplace,
	ops.StaticRegexReplace:   staticRegexReplace,
	ops.RegexFullMatch:       regexFullMatch,
	ops.StaticRegexFullMatch: staticRegexFullMatch,
	ops.StringSplit:          stringSplit,
	ops.StringSplitV2:        stringSplitV2,
}

// rewrite is a compiled replacement.
type rewrite struct {
	pattern, template string
	re                byteRegexp
	parts             []any // text ([]byte) and group numbers (int)
	global            bool
	takes             expressionSize
}

// keptExpression is the maximum bytes of a request's compiled expression that is kept for the next request.
const keptExpression = 1 << 20

func newRewrite(pattern, template string, global bool) (*rewrite, error) {
	re, err := newByteRegexp(pattern)
	if err != nil {
		return nil, fmt.Errorf("Invalid pattern: %s, error: %w", pattern, err)
	}
	takes, err := sizeOfExpression(pattern)
	if err != nil {
		return nil, fmt.Errorf("Invalid pattern: %s, error: %w", pattern, err)
	}
	r := &rewrite{pattern: pattern, template: template, re: re, global: global, takes: takes}
	for i := 0; i < len(template); i++ {
		b := template[i]
		if b != '\\' {
			r.text(b)
			continue
		}
		i++
		switch {
		case i < len(template) && template[i] == '\\':
			r.text('\\')
		case i < len(template) && template[i] >= '0' && template[i] <= '9' && int(template[i]-'0') <= re.NumSubexp():
			r.parts = append(r.parts, int(template[i]-'0'))
		default:
			return nil, fmt.Errorf("rewrite %q: expected \\\\, or \\ and the number of a group of %q", template, pattern)
		}
	}
	return r, nil
}

func (r *rewrite) text(b byte) {
	if n := len(r.parts); n > 0 {
		if t, ok := r.parts[n-1].([]byte); ok {
			r.parts[n-1] = append(t, b)
			return
		}
	}
	r.parts = append(r.parts, []byte{b})
}

// apply returns s with the matches, or the first one, replaced.
func (r *rewrite) apply(ctx context.Context, s []byte, room *textRoom) ([]byte, error) {
	n := -1
	if !r.global {
		n = 1
	} else if err := r.fits(ctx, s, *room); err != nil {
		return nil, err
	}
	matches := r.re.in(s).FindAllSubmatchIndex(s, n)
	if len(matches) == 0 {
		return s, nil
	}
	size, at := 0, 0
	for _, m := range matches {
		more := r.size(m) + m[0] - at
		if err := room.take(more); err != nil {
			return nil, err
		}
		size, at = size+more, m[1]
	}
	if err := room.take(len(s) - at); err != nil {
		return nil, err
	}
	out := make([]byte, 0, size+len(s)-at) // growing it would hold the text twice
	at = 0
	for _, m := range matches {
		out = append(out, s[at:m[0]]...)
		for _, p := range r.parts {
			switch p := p.(type) {
			case []byte:
				out = append(out, p...)
			case int:
				if m[2*p] >= 0 {
					out = append(out, s[m[2*p]:m[2*p+1]]...)
				}
			}
		}
		at = m[1]
	}
	return append(out, s[at:]...), nil
}

// size returns the size of the replacement of a match.
func (r *rewrite) size(match []int) (n int) {
	for _, p := range r.parts {
		switch p := p.(type) {
		case []byte:
			n += len(p)
		case int:
			n += match[2*p+1] - match[2*p] // 0 for a group without a match
		}
	}
	return n
}

// long is the length of a string from which the size of its parts is checked before they are made.
const long = 1 << 16

// slow is the length from which finding all matches in a string may take long: each search may read the whole rest.
const slow = 1 << 12

// fits fails if the positions of all matches in s take more than the room left, or if ctx ends first. It takes about as long as finding
// the matches.
func (r *rewrite) fits(ctx context.Context, s []byte, room textRoom) error {
	each := 2 * (stringHeader + 16*(1+r.re.NumSubexp()))
	if len(s) < slow && (len(s)+1)*each < long {
		return nil
	}
	count := 0
	if err := eachMatch(ctx, r.re.in(s), s, func(int, int) { count++ }); err != nil {
		return err
	}
	return room.take(count * each)
}

func (r *rewrite) run(c call) error {
	if err := c.room(r.takes.match(true), 1); err != nil {
		return err
	}
	room := c.textRoom()
	return eachStringErr(func(s []byte) ([]byte, error) { return r.apply(c.ctx, s, &room) })(c)
}

func regexReplace(s *site) (kernel, error) {
	global := s.boolean("replace_global", true)
	var last atomic.Pointer[rewrite]
	return func(c call) error {
		pattern, err := text("pattern", c.t(1))
		if err != nil {
			return err
		}
		template, err := text("rewrite", c.t(2))
		if err != nil {
			return err
		}
		r := last.Load()
		if r == nil || r.pattern != string(pattern) || r.template != string(template) {
			if err := c.payExpression(string(pattern), true); err != nil {
				return err
			}
			if r, err = newRewrite(string(pattern), string(template), global); err != nil {
				return err
			}
			if r.takes.compiled() <= keptExpression {
				last.Store(r)
			}
		}
		return r.run(c)
	}, nil
}

func staticRegexReplace(s *site) (kernel, error) {
	r, err := newRewrite(s.str("pattern", ""), s.str("rewrite", ""), s.boolean("replace_global", true))
	if err != nil {
		return nil, err
	}
	return r.run, nil
}

// fullMatch compiles a pattern that must match the whole string.
func fullMatch(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("Invalid pattern: %s, error: %w", pattern, err)
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

func matchAll(c call, re *regexp.Regexp) error {
	if err := want("input", c.t(0), tensor.String); err != nil {
		return err
	}
	dst, err := outputOf[bool](c, 0, c.t(0).Shape...)
	if err != nil {
		return err
	}
	for i, s := range c.t(0).Strings {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !utf8.Valid(s) {
			continue // nothing matches bytes that are not characters
		}
		if len(s) < long {
			dst[i] = re.Match(s)
			continue
		}
		dst[i] = re.MatchReader(&interruptible{ctx: c.ctx, text: bytes.NewReader(s)})
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// interruptible is a text that ends with its context.
type interruptible struct {
	ctx  context.Context
	text *bytes.Reader
	read int
}

// ReadRune reads a character.
func (r *interruptible) ReadRune() (ch rune, size int, err error) {
	if r.read++; r.read%1024 == 0 && r.ctx.Err() != nil {
		return 0, 0, r.ctx.Err()
	}
	return r.text.ReadRune()
}

func regexFullMatch(*site) (kernel, error) {
	return func(c call) error {
		pattern, err := text("pattern", c.t(1))
		if err != nil {
			return err
		}
		if err := c.payExpression(string(pattern), false); err != nil {
			return err
		}
		re, err := fullMatch(string(pattern))
		if err != nil {
			return err
		}
		return matchAll(c, re)
	}, nil
}

func staticRegexFullMatch(s *site) (kernel, error) {
	re, err := fullMatch(s.str("pattern", ""))
	if err != nil {
		return nil, err
	}
	return func(c call) error { return matchAll(c, re) }, nil
}

// splitAll makes a sparse tensor of the parts of every string; cuts returns the maximum number of parts, less one.
func splitAll(c call, cuts func(s []byte) int, parts func(s []byte) [][]byte) error {
	in := c.t(0)
	if in.DType != tensor.String || len(in.Shape) != 1 {
		return fmt.Errorf("input must be a string vector, got %v of shape %v", in.DType, in.Shape)
	}
	all := make([][][]byte, len(in.Strings))
	total, most := 0, 0
	for i, s := range in.Strings {
		if len(s) >= long {
			if err := c.room(total+cuts(s), stringHeader+16); err != nil {
				return err
			}
		}
		all[i] = parts(s)
		total += len(all[i])
		most = max(most, len(all[i]))
	}
	index, err := outputOf[int64](c, 0, total, 2)
	if err != nil {
		return err
	}
	values, err := c.output(1, tensor.String, total)
	if err != nil {
		return err
	}
	k := 0
	for i, p := range all {
		for j, s := range p {
			index[2*k], index[2*k+1], values.Strings[k] = int64(i), int64(j), s
			k++
		}
	}
	return c.outputInts(2, tensor.Int64, []int{len(all), most}, 2)
}

func stringSplitV2(s *site) (kernel, error) {
	most := s.node.Int("maxsplit", -1)
	return func(c call) error {
		sep, err := text("sep", c.t(1))
		if err != nil {
			return err
		}
		cuts := func(s []byte) int {
			if len(sep) == 0 {
				return countOf(s, []byte(space))
			}
			return bytes.Count(s, sep)
		}
		return splitAll(c, cuts, func(s []byte) [][]byte {
			if len(sep) == 0 {
				return fields(s, most)
			}
			if most >= 0 {
				return bytes.SplitN(s, sep, most+1)
			}
			return bytes.Split(s, sep)
		})
	}, nil
}

const space = " \t\n\v\f\r"

// fields splits at runs of white space. If most is not negative, the text
// after the first `most` parts is one more part, even if it is empty.
func fields(s []byte, most int) [][]byte {
	if most == 0 {
		return [][]byte{s}
	}
	var out [][]byte
	for s = bytes.TrimLeft(s, space); len(s) > 0; {
		end := bytes.IndexAny(s, space)
		if end < 0 {
			end = len(s)
		}
		out = append(out, s[:end:end])
		s = bytes.TrimLeft(s[end:], space)
		if len(out) == most {
			return append(out, s)
		}
	}
	return out
}

// stringSplit is the older op: every byte of the delimiter splits, and an empty delimiter splits into bytes.
func stringSplit(s *site) (kernel, error) {
	skip := s.boolean("skip_empty", true)
	return func(c call) error {
		sep, err := text("delimiter", c.t(1))
		if err != nil {
			return err
		}
		cuts := func(s []byte) int {
			if len(sep) == 0 {
				return len(s)
			}
			return countOf(s, sep)
		}
		return splitAll(c, cuts, func(s []byte) [][]byte {
			var out [][]byte
			if len(s) == 0 {
				return nil
			}
			if len(sep) == 0 {
				for i := range s {
					out = append(out, s[i:i+1:i+1])
				}
				return out
			}
			for {
				end := indexByteOf(s, sep)
				if end < 0 {
					end = len(s)
				}
				if end > 0 || !skip {
					out = append(out, s[:end:end])
				}
				if end == len(s) {
					return out
				}
				s = s[end+1:]
			}
		})
	}, nil
}

// indexByteOf returns the index of the first byte of s that is in set, or -1.
func indexByteOf(s, set []byte) int {
	for i, b := range s {
		if bytes.IndexByte(set, b) >= 0 {
			return i
		}
	}
	return -1
}

// countOf returns the number of bytes of s that are in set.
func countOf(s, set []byte) int {
	n := 0
	for _, b := range s {
		if bytes.IndexByte(set, b) >= 0 {
			n++
		}
	}
	return n
}
