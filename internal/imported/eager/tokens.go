package eager

import (
	"context"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// tokenOps split texts, and count n-grams, as ONNX Runtime does.
var tokenOps = map[*ops.Def]maker{ops.Tokens: tokens, ops.NgramCounts: ngramCounts}

// Marks of the beginning and the end of a text.
const startMark, endMark = "\x02", "\x03"

// tokenizer splits a text.
type tokenizer struct {
	expression *regexp.Regexp   // of a token; nil: separators split
	separators []*regexp.Regexp // none: each character is a token
	least      int              // minimum characters of a token
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
		var err error
		if all[i], err = t.parts(c, text); err != nil {
			return err
		}
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

// parts returns the tokens of a text.
func (t tokenizer) parts(c call, text []byte) (all [][]byte, err error) {
	if t.mark {
		all = append(all, []byte(startMark))
	}
	switch {
	case t.expression != nil:
		all, err = t.matches(c, all, text)
	case len(t.separators) == 0:
		for len(text) > 0 && t.least <= 1 {
			_, size := utf8.DecodeRune(text)
			all, text = append(all, text[:size:size]), text[size:]
		}
	default:
		all, err = t.between(c, all, text)
	}
	if t.mark {
		all = append(all, []byte(endMark))
	}
	return all, err
}

// matches appends the matches of the expression. The search continues after a match, or one character after the start of a short one.
func (t tokenizer) matches(c call, all [][]byte, text []byte) ([][]byte, error) {
	for at := 0; at <= len(text); {
		if err := c.ctx.Err(); err != nil { // each search may read the whole rest
			return nil, err
		}
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
	return all, nil
}

// between appends the parts between separators: the first separator splits the text, each further one the parts.
func (t tokenizer) between(c call, all [][]byte, text []byte) ([][]byte, error) {
	parts := [][]byte{text}
	for _, sep := range t.separators {
		var next [][]byte
		for _, p := range parts {
			at := 0
			err := eachMatch(c.ctx, sep, p, func(from, to int) {
				if from < to {
					next, at = append(next, p[at:from:from]), to
				}
			})
			if err != nil {
				return nil, err
			}
			next = append(next, p[at:])
		}
		parts = next
	}
	for _, p := range parts {
		if n := utf8.RuneCount(p); n > 0 && n >= t.least {
			all = append(all, p)
		}
	}
	return all, nil
}

// eachMatch calls found for each match of an expression, until ctx ends: each search may read the whole rest of the text. It keeps no
// list of the matches.
func eachMatch(ctx context.Context, re *regexp.Regexp, text []byte, found func(from, to int)) (err error) {
	type ended struct{ error }
	defer func() {
		switch p := recover().(type) {
		case nil:
		case ended: // only a panic stops package regexp
			err = p.error
		default:
			panic(p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	re.ReplaceAllFunc(text, func(m []byte) []byte {
		if err := ctx.Err(); err != nil {
			panic(ended{err})
		}
		from := cap(text) - cap(m) // m is a part of text
		found(from, from+len(m))
		return nil
	})
	return nil
}
