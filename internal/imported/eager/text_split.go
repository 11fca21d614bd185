package eager

import (
	"bytes"
	"context"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// tokenRows collects the tokens of texts, and their start and end positions.
type tokenRows struct {
	words                [][]byte
	starts, ends, splits []int
	room                 textRoom
}

func newTokenRows(c call) *tokenRows { return &tokenRows{splits: []int{0}, room: c.textRoom()} }

func (t *tokenRows) add(text []byte, start, end int) error {
	if err := t.room.take(end - start + stringHeader + 16); err != nil {
		return err
	}
	t.words, t.starts, t.ends = append(t.words, text[start:end]), append(t.starts, start), append(t.ends, end)
	return nil
}

func (t *tokenRows) row() { t.splits = append(t.splits, len(t.words)) }

// outputWords sets output i to a vector of strings.
func (c call) outputWords(i int, words [][]byte) error {
	out, err := c.output(i, tensor.String, len(words))
	if err == nil {
		copy(out.Strings, words)
	}
	return err
}

// outputVectors sets the outputs from i on to vectors of integers.
func (c call) outputVectors(i int, d tensor.DType, vectors ...[]int) error {
	for k, v := range vectors {
		if err := c.outputInts(i+k, d, v, len(v)); err != nil {
			return err
		}
	}
	return nil
}

// regexSplit splits texts at the matches of an expression. What its first group matches may also be a token.
func regexSplit(c call) error {
	pattern, err := text("pattern", c.t(1))
	if err != nil {
		return err
	}
	if err := c.payExpression(string(pattern), true); err != nil {
		return err
	}
	delimiter, err := newByteRegexp(string(pattern))
	if err != nil {
		return fmt.Errorf("Invalid pattern: %s, error: %w", pattern, err)
	}
	keepPattern, err := text("pattern", c.t(2))
	if err != nil {
		return err
	}
	if err := c.payExpression(string(keepPattern), false); err != nil {
		return err
	}
	keep, err := fullMatch(string(keepPattern))
	if err != nil {
		return err
	}
	if delimiter.NumSubexp() < 1 {
		return fmt.Errorf("delim_regex_pattern: expected a group, got %q", delimiter.String())
	}
	t := newTokenRows(c)
	for _, s := range c.t(0).Strings {
		s, _, _ = bytes.Cut(s, []byte{0}) // TensorFlow Text ignores the rest
		if err := t.split(c.ctx, s, delimiter, func(token []byte) bool { return len(keepPattern) > 0 && utf8.Valid(token) && keep.Match(token) }); err != nil {
			return err
		}
		t.row()
	}
	if err := c.outputWords(0, t.words); err != nil {
		return err
	}
	return c.outputVectors(1, tensor.Int64, t.starts, t.ends, t.splits)
}

func (t *tokenRows) split(ctx context.Context, s []byte, delimiter byteRegexp, keep func(token []byte) bool) error {
	re, at := delimiter.in(s), 0
	for {
		if err := ctx.Err(); err != nil { // each search may read the whole rest
			return err
		}
		m := re.FindSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		if m[1] == 0 || m[2] < 0 {
			return fmt.Errorf("delim_regex_pattern %q: expected an expression that does not match nothing", delimiter.String())
		}
		start, end := at+m[2], at+m[3]
		if start > at {
			if err := t.add(s, at, start); err != nil {
				return err
			}
		}
		if keep(s[start:end]) {
			if err := t.add(s, start, end); err != nil {
				return err
			}
		}
		at += m[1]
	}
	if at < len(s) {
		return t.add(s, at, len(s))
	}
	return nil
}

// whitespaceTokens splits texts at white space. The string input_config has a bit for each character that tells whether it is white space.
func whitespaceTokens(c call) error {
	config, err := text("input_config", c.t(1))
	if err != nil {
		return err
	}
	t := newTokenRows(c)
	for _, s := range c.t(0).Strings {
		start := -1
		for at := 0; at < len(s); {
			r, size := decodeUTF8(s[at:])
			space := r >= 0 && int(r>>3) < len(config) && config[r>>3]>>(r&7)&1 == 1
			switch {
			case !space && start < 0:
				start = at
			case space && start >= 0:
				// As in TensorFlow Text, the end is one byte before the end of the white space character, however long that is.
				if err := t.add(s, start, at+size-1); err != nil {
					return err
				}
				start = -1
			}
			at += size
		}
		if start >= 0 {
			if err := t.add(s, start, len(s)); err != nil {
				return err
			}
		}
		t.row()
	}
	if err := c.outputWords(0, t.words); err != nil {
		return err
	}
	if err := c.outputVectors(1, tensor.Int64, t.splits); err != nil {
		return err
	}
	return c.outputVectors(2, tensor.Int32, t.starts, t.ends)
}

// byteTokens makes tokens of single bytes.
func byteTokens(c call) error {
	splits := []int{0}
	for _, s := range c.t(0).Strings {
		splits = append(splits, splits[len(splits)-1]+len(s))
	}
	n := splits[len(splits)-1]
	if err := c.room(n, 16); err != nil {
		return err
	}
	out, err := outputOf[uint8](c, 0, n)
	if err != nil {
		return err
	}
	starts, ends := make([]int, 0, n), make([]int, 0, n)
	for row, s := range c.t(0).Strings {
		copy(out[splits[row]:], s)
		for i := range s {
			starts, ends = append(starts, i), append(ends, i+1)
		}
	}
	if err := c.outputVectors(1, tensor.Int64, splits); err != nil {
		return err
	}
	return c.outputVectors(2, tensor.Int32, starts, ends)
}

// charTokens splits rows of characters at white space, and where the script changes.
func charTokens(s *site) (kernel, error) {
	scripts, keep, splits := s.node.Op == ops.UnicodeScriptTokenizeWithOffsets.Name, s.boolean("keep_whitespace", false), s.dtype("Tsplits", tensor.Int64)
	return func(c call) error {
		if err := want("input_values", c.t(0), tensor.Int32); err != nil {
			return err
		}
		chars := tensor.Values[int32](c.t(0))
		rows, err := c.vector("input_splits", c.t(1))
		if err != nil {
			return err
		}
		if err := c.room(len(chars), 32); err != nil {
			return err
		}
		t := &charRows{scripts: scripts, keep: keep}
		for i := range rows {
			t.outer = append(t.outer, len(t.starts))
			if i+1 == len(rows) {
				break
			}
			if rows[i] < 0 || rows[i+1] < rows[i] || rows[i+1] > len(chars) {
				return fmt.Errorf("input_splits: expected an ascending sequence up to %d, got %v", len(chars), rows)
			}
			t.row(chars[rows[i]:rows[i+1]])
		}
		if err := c.outputInts(0, tensor.Int32, t.values, len(t.values)); err != nil {
			return err
		}
		if err := c.outputVectors(1, splits, append(t.inner, len(t.values))); err != nil {
			return err
		}
		if err := c.outputVectors(2, tensor.Int64, t.starts, t.ends); err != nil {
			return err
		}
		return c.outputVectors(4, splits, t.outer)
	}, nil
}

// charRows collects tokens of characters.
type charRows struct {
	scripts, keep                      bool // tokens end where the script changes; white space is kept
	values, inner, starts, ends, outer []int
}

func (t *charRows) row(chars []int32) {
	open, script, wasSpace, skipped := false, int32(-1), false, 0
	for i, r := range chars {
		space := unicode.IsSpace(r)
		of := script
		if t.scripts {
			of = scriptOf(r)
		}
		if ends := !t.scripts && space || of != script || t.keep && space != wasSpace; ends {
			if open {
				t.ends = append(t.ends, i-skipped)
			}
			open, script = false, of
		}
		switch {
		case space && !t.keep:
			skipped++
		default:
			if !open {
				t.starts, t.inner, open = append(t.starts, i), append(t.inner, len(t.values)), true
			}
			t.values = append(t.values, int(r))
			skipped = 0
		}
		wasSpace = space
	}
	if open {
		t.ends = append(t.ends, len(chars)-skipped)
	}
}
