package eager

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/fingerprint"
	"github.com/goestimator/goestimator/tensor"
)

// ngramOps join strings, and read packed ones.
var ngramOps = map[*ops.Def]maker{
	ops.StringNGrams:        stringNGrams,
	ops.UnsortedSegmentJoin: unsortedSegmentJoin,
	ops.DecodeCompressed:    decodeCompressed,
	ops.DecodePaddedRaw:     decodePaddedRaw,
	ops.Fingerprint:         plain(fingerprints),
}

// ngrams has the attributes of StringNGrams.
type ngrams struct {
	sep, left, right []byte
	widths           []int64
	pad              int
	short            bool
}

func (g ngrams) padding(width int) int {
	if g.pad < 0 {
		return width - 1
	}
	return min(g.pad, width-1)
}

// count returns the number of n-grams of one width in a row of n words.
func (g ngrams) count(n, width int) int {
	pad := g.padding(width)
	return max(0, n+2*pad-width+1)
}

// widthsOf returns the widths for a row of n words. If none fits, the whole row becomes one n-gram, if that is wanted.
func (g ngrams) widthsOf(n int) (widths []int, total int) {
	for _, w := range g.widths {
		total += g.count(n, int(w))
		widths = append(widths, int(w))
	}
	if total > 0 || !g.short || n == 0 {
		return widths, total
	}
	pad := 0
	if g.pad > 0 {
		pad = g.pad
	}
	return []int{n + 2*pad}, 1
}

// append appends the n-grams of one width for a row.
func (g ngrams) append(out [][]byte, words [][]byte, width int, room *textRoom) ([][]byte, error) {
	pad := g.padding(width)
	if n := len(words) + 2*max(g.pad, 0); n == width && g.count(len(words), width) == 0 {
		pad = max(g.pad, 0)
	}
	row := slices.Concat(slices.Repeat([][]byte{g.left}, pad), words, slices.Repeat([][]byte{g.right}, pad))
	for i := 0; i+width <= len(row); i++ {
		if i%64 == 0 && room.c.ctx.Err() != nil { // a long row of short words takes time but no memory
			return nil, room.c.ctx.Err()
		}
		size := len(g.sep) * (width - 1)
		for _, w := range row[i : i+width] {
			size += len(w)
		}
		if err := room.take(size + stringHeader); err != nil {
			return nil, err
		}
		out = append(out, bytes.Join(row[i:i+width], g.sep))
	}
	return out, nil
}

// stringNGrams joins runs of adjacent words in the rows of a ragged tensor.
func stringNGrams(s *site) (kernel, error) {
	g := ngrams{[]byte(s.str("separator", "")), []byte(s.str("left_pad", "")), []byte(s.str("right_pad", "")), list[int64](s, "ngram_widths"), s.node.Int("pad_width", 0), s.boolean("preserve_short_sequences", false)}
	for _, w := range g.widths {
		if w <= 0 || w > 1<<20 {
			return nil, fmt.Errorf("ngram_widths must contain positive values, got %d", w)
		}
	}
	if g.pad > 1<<20 {
		return nil, fmt.Errorf("attribute pad_width: %d is too large", g.pad)
	}
	splits := s.dtype("Tsplits", tensor.Int64)
	return func(c call) error {
		words, err := c.t(0), want("data", c.t(0), tensor.String)
		if err != nil {
			return err
		}
		ends, err := c.vector("data_splits", c.t(1))
		if err != nil {
			return err
		}
		if len(words.Shape) != 1 || len(ends) > 0 && (ends[0] != 0 || ends[len(ends)-1] != len(words.Strings)) || !slices.IsSorted(ends) {
			return fmt.Errorf("Invalid split values %v: expected them from 0 to the number of data, %d, in order", ends, len(words.Strings))
		}
		var out [][]byte
		room, places := c.textRoom(), make([]int, len(ends))
		for i := 1; i < len(ends); i++ {
			row := words.Strings[ends[i-1]:ends[i]]
			widths, _ := g.widthsOf(len(row))
			for _, w := range widths {
				if err := c.room(len(row)+2*max(g.padding(w), max(g.pad, 0)), stringHeader); err != nil {
					return err
				}
				if out, err = g.append(out, row, w, &room); err != nil {
					return err
				}
			}
			places[i] = len(out)
		}
		t, err := c.output(0, tensor.String, len(out))
		if err != nil {
			return err
		}
		copy(t.Strings, out)
		return c.outputInts(1, splits, places, len(places))
	}, nil
}

// unsortedSegmentJoin joins the strings of each segment in order.
func unsortedSegmentJoin(s *site) (kernel, error) {
	sep := []byte(s.str("separator", ""))
	return func(c call) error {
		in, ids := c.t(0), c.t(1)
		if err := want("inputs", in, tensor.String); err != nil {
			return err
		}
		at, err := c.integers("segment_ids", ids)
		if err != nil {
			return err
		}
		n, err := integer("num_segments", c.t(2))
		if err != nil {
			return err
		}
		r := len(ids.Shape)
		if r == 0 || r > len(in.Shape) || !slices.Equal(in.Shape[:r], ids.Shape) || n < 0 {
			return fmt.Errorf("segment_ids of shape %s must be a beginning of the shape %s of the inputs, and num_segments %d not negative", shapeText(ids.Shape), shapeText(in.Shape), n)
		}
		inner := product(in.Shape[r:])
		out, err := c.output(0, tensor.String, append([]int{n}, in.Shape[r:]...)...)
		if err != nil {
			return err
		}
		room := c.textRoom()
		began := make([]bool, len(out.Strings))
		for i, id := range at {
			if id < 0 || id >= n {
				return fmt.Errorf("segment_ids are not allowed to exceed num_segments or to have negative values: got %d of %d", id, n)
			}
			for k := range inner {
				to := id*inner + k
				text := in.Strings[i*inner+k]
				if err := room.take(len(text) + len(sep)); err != nil {
					return err
				}
				if began[to] {
					out.Strings[to] = append(out.Strings[to], sep...)
				}
				out.Strings[to], began[to] = append(out.Strings[to], text...), true
			}
		}
		return nil
	}, nil
}

// fingerprints returns the 8 bytes of a hash for each row.
func fingerprints(c call) error {
	t := c.t(0)
	method, err := text("method", c.t(1))
	switch {
	case err != nil:
		return err
	case string(method) != "farmhash64":
		return fmt.Errorf("Unsupported data fingerprint method: %s", method)
	case len(t.Shape) == 0:
		return fmt.Errorf("`data` should have at least one dimension: got %s", shapeText(t.Shape))
	}
	dst, err := outputOf[uint8](c, 0, t.Shape[0], 8)
	if err != nil {
		return err
	}
	for i := range t.Shape[0] {
		row := t.Row(i)
		b := row.Bytes
		switch {
		case t.DType == tensor.String && len(row.Strings) == 1:
			b = row.Strings[0]
		case t.DType == tensor.String:
			b = make([]byte, 0, 8*len(row.Strings))
			for _, text := range row.Strings {
				b = binary.LittleEndian.AppendUint64(b, fingerprint.Hash64(text))
			}
		}
		binary.LittleEndian.PutUint64(dst[8*i:], fingerprint.Hash64(b))
	}
	return nil
}
