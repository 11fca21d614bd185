package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/pieces"
	"github.com/goestimator/goestimator/tensor"
)

// sentencepieces is a SentencePiece model as a resource. It never changes.
type sentencepieces struct{ *pieces.Model }

func (s *sentencepieces) fork() treeResource { return s }

// sentencepieceModel reads the model from an attribute, once for all nodes with the same resource name.
func sentencepieceModel(s *site) (kernel, error) {
	data, _ := s.node.Attrs["model"].([]byte)
	name := s.str("shared_name", "")
	if name == "" {
		name = s.node.Name
	}
	key := ResourceKey(s.container(), name)
	return func(c call) error {
		if c.env == nil || c.env.Resources == nil {
			return errForests
		}
		var err error
		r := c.env.Resources.treeResource(key, func(string) treeResource {
			m, fault := pieces.Parse(data)
			if err = fault; err != nil {
				return nil
			}
			return &sentencepieces{m}
		})
		if err == nil && r == nil {
			err = fmt.Errorf("the SentencePiece model is damaged")
		}
		c.out[0].Resource = r
		return err
	}, s.err
}

// sentencepieceOptions reads add_bos, add_eos and reverse from three inputs, from input i on.
func (c call) sentencepieceOptions(i int) (o pieces.Options, err error) {
	for k, to := range []*bool{&o.BOS, &o.EOS, &o.Reverse} {
		t := c.t(i + k)
		if t.DType != tensor.Bool || t.Len() != 1 {
			return o, fmt.Errorf("add_bos, add_eos, reverse: expected a bool, got %v of shape %v", t.DType, t.Shape)
		}
		*to = tensor.Values[bool](t)[0]
	}
	return o, nil
}

// sentencepieceEncode splits texts into pieces.
func sentencepieceEncode(s *site) (kernel, error) {
	typ, splits := s.dtype("out_type", tensor.Int32), s.dtype("Tsplits", tensor.Int64)
	best := s.boolean("return_nbest", false)
	return func(c call) error {
		m, err := treeResourceOf[*sentencepieces](c)
		if err != nil {
			return err
		}
		for _, size := range tensor.Values[int32](c.t(2)) {
			if best || size != 0 && size != 1 {
				return fmt.Errorf("nbest_size %d: several divisions of a text and samples are %w", size, ErrUnsupported)
			}
		}
		options, err := c.sentencepieceOptions(4)
		if err != nil {
			return err
		}
		t, ids, w := newTokenRows(c), []int(nil), newPiecesWork(c)
		for _, s := range c.t(1).Strings {
			tokens, err := m.Encode(string(s), options, w.next())
			if err != nil {
				return err
			}
			for _, p := range tokens {
				if err := t.room.take(len(p.Piece) + stringHeader + 24); err != nil {
					return err
				}
				t.words, ids, t.starts, t.ends = append(t.words, []byte(p.Piece)), append(ids, p.ID), append(t.starts, p.Begin), append(t.ends, p.End)
			}
			t.row()
		}
		if typ == tensor.String {
			err = c.outputWords(0, t.words)
		} else {
			err = c.outputVectors(0, tensor.Int32, ids)
		}
		if err != nil {
			return err
		}
		if err := c.outputVectors(1, splits, t.splits); err != nil || len(c.out) < 4 {
			return err
		}
		return c.outputVectors(2, tensor.Int64, t.starts, t.ends)
	}, nil
}

// sentencepieceDecode joins rows of pieces into texts.
func sentencepieceDecode(c call) error {
	m, err := treeResourceOf[*sentencepieces](c)
	if err != nil {
		return err
	}
	options, err := c.sentencepieceOptions(3)
	if err != nil {
		return err
	}
	splits, err := c.vector("input_splits", c.t(2))
	if err != nil {
		return err
	}
	values := c.t(1)
	if len(splits) == 0 {
		return fmt.Errorf("input_splits must have at least 1 element.")
	}
	out, err := c.output(0, tensor.String, len(splits)-1)
	if err != nil || values.Len() == 0 {
		return err
	}
	room, w := c.textRoom(), newPiecesWork(c)
	for i := range out.Strings {
		if splits[i] < 0 || splits[i+1] < splits[i] || splits[i+1] > values.Len() {
			return fmt.Errorf("input_splits: expected an ascending sequence up to %d, got %v", values.Len(), splits)
		}
		row, err := m.row(values, splits[i], splits[i+1])
		if err != nil {
			return err
		}
		text, err := m.Decode(row, options, w.next())
		if err != nil {
			return err
		}
		if err := room.take(len(text)); err != nil {
			return err
		}
		out.Strings[i] = []byte(text)
	}
	return nil
}

// row returns the texts of pieces, which may be given by number.
func (s *sentencepieces) row(values *tensor.Tensor, from, to int) ([]string, error) {
	row := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		if values.DType == tensor.String {
			row = append(row, string(values.Strings[i]))
			continue
		}
		piece, err := s.Piece(int(tensor.Values[int32](values)[i]))
		if err != nil {
			return nil, err
		}
		row = append(row, piece)
	}
	return row, nil
}

func sentencepieceTexts(c call) error {
	m, err := treeResourceOf[*sentencepieces](c)
	if err != nil {
		return err
	}
	out, err := c.output(0, tensor.String, c.t(1).Shape...)
	if err != nil {
		return err
	}
	room := c.textRoom()
	for i, id := range tensor.Values[int32](c.t(1)) {
		piece, err := m.Piece(int(id))
		if err != nil {
			return err
		}
		if err := room.take(len(piece)); err != nil {
			return err
		}
		out.Strings[i] = []byte(piece)
	}
	return nil
}

func sentencepieceIDs(c call) error {
	m, err := treeResourceOf[*sentencepieces](c)
	if err != nil {
		return err
	}
	out, err := outputOf[int32](c, 0, c.t(1).Shape...)
	if err != nil {
		return err
	}
	for i, s := range c.t(1).Strings {
		out[i] = int32(m.ID(string(s)))
	}
	return nil
}

func sentencepieceSize(c call) error {
	m, err := treeResourceOf[*sentencepieces](c)
	if err != nil {
		return err
	}
	return c.scalarInt(0, tensor.Int32, m.Len())
}
