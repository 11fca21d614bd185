package dataset

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/tensor"
)

// word is a component that is not a tensor; words are a vector of them.
type (
	word  string
	words []word
)

func (w words) Rows() int       { return len(w) }
func (w words) Row(i int) Value { return Value{Resource: w[i]} }

func (w word) Stack(all []any) (any, error) {
	var made words
	for _, v := range all {
		w, ok := v.(word)
		if !ok {
			return nil, errors.New("expected words")
		}
		made = append(made, w)
	}
	return made, nil
}

// TestArrays: vectors of non-tensors can be sliced, and the slices batched and unbatched.
func TestArrays(t *testing.T) {
	numbers := tensor.New(tensor.Int64, 3)
	d, err := Slices(Element{{T: numbers}, {Resource: words{"a", "b", "c"}}})
	if err != nil {
		t.Fatal(err)
	}
	if d, err = Batch(d, 2, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d    Dataset
		want []any
	}{{d, []any{words{"a", "b"}, words{"c"}}}, {Unbatch(d), []any{word("a"), word("b"), word("c")}}} {
		p := onePass()
		it, err := c.d.Iterator(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			e, err := it.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			w, isWord := want.(word)
			if isWord && e[1].Resource != w || !isWord && !slices.Equal(e[1].Resource.(words), want.(words)) {
				t.Errorf("got %v, expected %v", e[1].Resource, want)
			}
		}
		if _, err := it.Next(t.Context()); err != io.EOF {
			t.Errorf("got %v, expected the end", err)
		}
		if it.Close(); p.Room.Held() != 0 {
			t.Errorf("%d bytes are still kept", p.Room.Held())
		}
	}
	if _, err := Slices(Element{{T: numbers}, {Resource: words{"a"}}}); err == nil || !strings.Contains(err.Error(), "component 1 has 1 slices") {
		t.Errorf("got %v", err)
	}
	if _, err := Slices(Element{{Resource: word("a")}}); err == nil {
		t.Error("a word has slices")
	}
	if _, err := stack(onePass(), []Element{{{Resource: word("a")}}, {{T: numbers}}}); err == nil || !strings.Contains(err.Error(), "component 0: expected words") {
		t.Errorf("got %v", err)
	}
}
