package eager

import (
	"fmt"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/imported/pieces"
	"github.com/goestimator/goestimator/tensor"
)

// wordpieces splits words into the longest pieces of a vocabulary, from left to right.
type wordpieces struct {
	suffix, unknown     string // prefix of pieces inside a word; the piece for an unknown word
	longest, width      int    // maximum bytes of a word, and characters of a piece; a width of 0 is unlimited
	useUnknown, charset bool   // unknown words become the unknown piece; unknown characters become pieces
	known               func(piece string) bool
	out                 *tokenRows
}

func wordpieceTokens(s *site) (kernel, error) {
	w := wordpieces{suffix: s.str("suffix_indicator", ""), unknown: s.str("unknown_token", ""), longest: s.node.Int("max_bytes_per_word", 0), width: s.node.Int("max_chars_per_token", 0),
		useUnknown: s.boolean("use_unknown_token", false), charset: s.boolean("split_unknown_characters", false)}
	partition := s.str("output_row_partition_type", "row_lengths")
	if partition != "row_lengths" && partition != "row_splits" {
		return nil, fmt.Errorf("attribute output_row_partition_type: expected row_lengths or row_splits, got %q", partition)
	}
	return func(c call) error {
		t, ok := c.in[1].Resource.(*Table)
		if !ok {
			return fmt.Errorf("expected a table, got %T", c.in[1].Resource)
		}
		d, err := t.content()
		if err != nil {
			return err
		}
		if t.key != tensor.String || t.value != tensor.Int64 || len(t.shape) != 0 {
			return fmt.Errorf("expected a table from string to int64, got one from %v to %v of shape %v", t.key, t.value, t.shape)
		}
		w := w
		w.out = newTokenRows(c)
		w.known = func(piece string) bool {
			if d == nil {
				return false
			}
			at, ok := d.texts[piece]
			return ok && tensor.Values[int64](d.values)[at] != -1
		}
		for i, word := range c.t(0).Strings {
			if i%64 == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			if err := w.word(string(word)); err != nil {
				return err
			}
			w.out.row()
		}
		rows := w.out.splits
		if partition == "row_lengths" {
			rows = lengths(rows)
		}
		if err := c.outputWords(0, w.out.words); err != nil {
			return err
		}
		return c.outputVectors(1, tensor.Int64, rows, w.out.starts, w.out.ends)
	}, nil
}

// lengths returns the differences between neighbors.
func lengths(splits []int) []int {
	out := make([]int, len(splits)-1)
	for i := range out {
		out[i] = splits[i+1] - splits[i]
	}
	return out
}

// add appends a piece of a word.
func (w *wordpieces) add(piece string, start, end int) error {
	if err := w.out.room.take(len(piece) + stringHeader + 16); err != nil {
		return err
	}
	w.out.words, w.out.starts, w.out.ends = append(w.out.words, []byte(piece)), append(w.out.starts, start), append(w.out.ends, end)
	return nil
}

func (w *wordpieces) word(word string) error {
	if len(word) > w.longest {
		if w.useUnknown {
			return w.add(w.unknown, 0, len(w.unknown)) // TensorFlow Text returns the unknown piece's end
		}
		return w.add(word, 0, len(word))
	}
	had := len(w.out.words)
	for at := 0; at < len(word); {
		end, known, err := w.match(word, at)
		if err != nil {
			return err
		}
		if end == at {
			w.out.words, w.out.starts, w.out.ends = w.out.words[:had], w.out.starts[:had], w.out.ends[:had]
			if w.useUnknown {
				return w.add(w.unknown, 0, len(word))
			}
			return w.add(word, 0, len(word))
		}
		piece := word[at:end]
		if !known && w.useUnknown {
			piece = w.unknown
		}
		if at > 0 {
			piece = w.suffix + piece
		}
		if err := w.add(piece, at, end); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// match returns the end of the longest piece at index `at` of a word, or at itself if there is none.
func (w *wordpieces) match(word string, at int) (end int, known bool, err error) {
	var ends []int
	for end := at; end < len(word) && (w.width <= 0 || len(ends) < w.width); {
		_, size := decodeUTF8([]byte(word[end:min(len(word), end+4)]))
		end += size
		ends = append(ends, end)
	}
	for i := len(ends) - 1; i >= 0; i-- {
		if i%64 == 0 && w.out.room.c.ctx.Err() != nil { // each index may read the whole rest of the word
			return at, false, w.out.room.c.ctx.Err()
		}
		piece := word[at:ends[i]]
		if at > 0 {
			piece = w.suffix + piece
		}
		if w.known(piece) {
			return ends[i], true, nil
		}
	}
	if w.charset {
		return ends[0], false, nil
	}
	return at, false, nil
}

// readOnce keeps the result of reading a node's model, which is usually a constant.
type readOnce[M any] struct {
	read func([]byte) (M, error)
	last atomic.Pointer[readModel[M]]
}

type readModel[M any] struct {
	from  *tensor.Tensor
	model M
}

func (r *readOnce[M]) of(t *tensor.Tensor) (m M, err error) {
	if last := r.last.Load(); last != nil && last.from == t {
		return last.model, nil
	}
	if err := want("model", t, tensor.Uint8); err != nil {
		return m, err
	}
	if m, err = r.read(t.Bytes); err == nil {
		r.last.Store(&readModel[M]{t, m})
	}
	return m, err
}

// fastWordpieces splits words or texts by a model for fast word pieces.
func fastWordpieces(*site) (kernel, error) {
	models := &readOnce[*pieces.Wordpieces]{read: pieces.NewWordpieces}
	return func(c call) error {
		m, err := models.of(c.t(1))
		if err != nil {
			return err
		}
		t, ids, w := newTokenRows(c), []int(nil), newPiecesWork(c)
		for _, s := range c.t(0).Strings {
			parts, err := m.Split(string(s), w.next())
			if err != nil {
				return err
			}
			for _, p := range parts {
				if err := t.room.take(len(p.Text) + stringHeader + 24); err != nil {
					return err
				}
				t.words, ids, t.starts, t.ends = append(t.words, []byte(p.Text)), append(ids, p.ID), append(t.starts, p.Begin), append(t.ends, p.End)
			}
			t.row()
		}
		if err := c.outputWords(0, t.words); err != nil {
			return err
		}
		return c.outputVectors(1, tensor.Int64, ids, t.splits, t.starts, t.ends)
	}, nil
}

// fastNormalize normalizes texts as BERT does.
func fastNormalize(s *site) (kernel, error) {
	models, offsets := &readOnce[*pieces.BertNormalizer]{read: pieces.NewBertNormalizer}, s.boolean("get_offsets", false)
	return func(c call) error {
		m, err := models.of(c.t(1))
		if err != nil {
			return err
		}
		out, err := c.output(0, tensor.String, c.t(0).Shape...)
		if err != nil {
			return err
		}
		room, w, from, splits := c.textRoom(), newPiecesWork(c), []int(nil), make([]int, len(out.Strings)+1)
		for i, s := range c.t(0).Strings {
			text, at, err := m.Apply(string(s), w.next())
			if err != nil {
				return err
			}
			if err := room.take(len(text) + 8*len(at)); err != nil {
				return err
			}
			out.Strings[i] = text
			if offsets {
				from, splits[i+1] = append(from, at...), splits[i]+len(at)
			}
		}
		return c.outputVectors(1, tensor.Int64, from, splits)
	}, nil
}
