package estimator

import (
	"fmt"
	"strconv"

	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Text is a prediction of words. Programs compute with numbers, so the host looks up
// the words by their ids. The word of id i is Vocabulary[i], or "UNK" for an id outside
// of the vocabulary. Without a vocabulary it is the id in decimal.
type Text struct {
	IDs        *G.Node // int32 or int64, [batch, ...]
	Vocabulary []string
}

// Texts are predictions of words by name.
type Texts map[string]Text

// unknownWord is what tf.lookup.index_to_string_table_from_tensor gives for an id without a word.
const unknownWord = "UNK"

// decoder looks up the words of ids.
type decoder struct{ words [][]byte }

func (t *Text) decoder() *decoder {
	if t == nil {
		return nil
	}
	d := &decoder{make([][]byte, len(t.Vocabulary))}
	for i, w := range t.Vocabulary {
		d.words[i] = []byte(w)
	}
	return d
}

// decode returns the words of ids in a new tensor.
func (d *decoder) decode(ids *tensor.Tensor) (*tensor.Tensor, error) {
	out := tensor.New(tensor.String, ids.Shape...)
	switch ids.DType {
	case tensor.Int32:
		decodeInto(out.Strings, tensor.Values[int32](ids), d.words)
	case tensor.Int64:
		decodeInto(out.Strings, tensor.Values[int64](ids), d.words)
	default:
		return nil, fmt.Errorf("ids of words have type %v: expected int32 or int64", ids.DType)
	}
	return out, nil
}

func decodeInto[I int32 | int64](out [][]byte, ids []I, words [][]byte) {
	for i, id := range ids {
		switch {
		case len(words) == 0:
			out[i] = strconv.AppendInt(nil, int64(id), 10)
		case id >= 0 && int(id) < len(words):
			out[i] = words[id]
		default:
			out[i] = []byte(unknownWord)
		}
	}
}
