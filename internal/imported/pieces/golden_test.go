package pieces

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// division is a tokenizer's result for a text.
type division struct {
	Text              string
	Pieces            []string
	IDs, Starts, Ends []int
	Joined            string
}

// recorded are the cases of interop/eager_pieces.py.
type recorded struct {
	Sentencepiece []struct {
		Name          string
		Model         []byte
		BOS           bool
		Cases, Joined []division
	}
	Wordpieces []struct {
		Single bool
		Model  []byte
		Cases  []division
	}
}

func readRecorded(t testing.TB) (r recorded) {
	t.Helper()
	f, err := os.Open("testdata/pieces.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSentencePiece: pieces, offsets and joined texts match SentencePiece.
func TestSentencePiece(t *testing.T) {
	for _, g := range readRecorded(t).Sentencepiece {
		m, err := Parse(g.Model)
		if err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		o := Options{g.BOS, g.BOS, g.BOS}
		for _, want := range g.Cases {
			tokens, err := m.Encode(want.Text, o, nil)
			if err != nil {
				t.Fatalf("%s: %q: %v", g.Name, want.Text, err)
			}
			got := division{Text: want.Text}
			var names []string
			for _, p := range tokens {
				got.Pieces, got.IDs, got.Starts, got.Ends = append(got.Pieces, p.Piece), append(got.IDs, p.ID), append(got.Starts, p.Begin), append(got.Ends, p.End)
				name, err := m.Piece(p.ID)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
			if got.Joined, err = m.Decode(names, o, nil); err != nil {
				t.Fatal(err)
			}
			compare(t, g.Name, got, want)
		}
		for _, want := range g.Joined {
			if got, err := m.Decode(want.Pieces, o, nil); err != nil || got != want.Joined {
				t.Errorf("%s: %q: got %q, %v, expected %q", g.Name, want.Pieces, got, err, want.Joined)
			}
		}
	}
}

func compare(t *testing.T, name string, got, want division) {
	t.Helper()
	if !slices.Equal(got.Pieces, want.Pieces) || !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Starts, want.Starts) || !slices.Equal(got.Ends, want.Ends) || got.Joined != want.Joined {
		t.Errorf("%s: got\n%+v, expected\n%+v", name, got, want)
	}
}

// TestWordpieces: pieces match FastWordpieceTokenizer, for texts and for single words.
func TestWordpieces(t *testing.T) {
	for _, g := range readRecorded(t).Wordpieces {
		m, err := NewWordpieces(g.Model)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range g.Cases {
			subwords, err := m.Split(want.Text, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := division{Text: want.Text}
			for _, p := range subwords {
				got.Pieces, got.IDs, got.Starts, got.Ends = append(got.Pieces, p.Text), append(got.IDs, p.ID), append(got.Starts, p.Begin), append(got.Ends, p.End)
			}
			compare(t, "word pieces", got, want)
		}
	}
}

// TestDamaged: models with damaged or missing bytes are refused, or split text without hanging.
func TestDamaged(t *testing.T) {
	r := readRecorded(t)
	for i := range 300 {
		sentence, word := r.Sentencepiece[i%len(r.Sentencepiece)].Model, r.Wordpieces[i%2].Model
		if m, err := Parse(damaged(sentence, i)); err == nil {
			tokens, err := m.Encode("hello quick \xff中 world", Options{EOS: true}, nil)
			if err == nil && len(tokens) > 0 {
				_, _ = m.Decode([]string{tokens[0].Piece, "▁", "<0xZZ>"}, Options{}, nil)
			}
		}
		if m, err := NewWordpieces(damaged(word, i)); err == nil {
			_, _ = m.Split("jumped, unwantable ab中\xff ##", nil)
		}
		if m, err := NewBertNormalizer(damaged(word, i)); err == nil {
			_, _, _ = m.Apply("a\x00é", nil)
		}
	}
}

// damaged is a model that is truncated, or has bytes changed.
func damaged(model []byte, seed int) []byte {
	if seed%3 == 0 {
		return model[:len(model)*seed/300]
	}
	b := slices.Clone(model)
	for k := range 1 + seed%7 {
		at := (seed*7919 + k*104729) % len(b)
		if seed%2 == 0 {
			at %= 200
		}
		b[at] ^= byte(seed*31 + k*17 + 1)
	}
	return b
}

func TestRefusedModels(t *testing.T) {
	piece := func(text string, kind byte) []byte {
		return append([]byte{10, byte(len(text) + 4), 10, byte(len(text))}, append([]byte(text), 24, kind)...)
	}
	for name, data := range map[string][]byte{
		"no unknown piece":   piece("a", 1),
		"two unknown pieces": append(piece("a", 2), piece("b", 2)...),
		"a piece twice":      append(piece("a", 1), piece("a", 1)...),
		"an empty piece":     piece("", 1),
		"half a field":       {10, 200},
		"model type 9":       append(piece("a", 2), 18, 2, 24, 9),
		"a huge piece":       protowire.AppendBytes([]byte{10}, protowire.AppendBytes([]byte{10}, make([]byte, maxPieces+1))),
		"no bytes":           append(piece("a", 2), 18, 3, 0x98, 2, 1),
	} {
		if _, err := Parse(data); err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
	m, err := Parse(append(piece("<unk>", 2), piece("a", 1)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Encode("a", Options{BOS: true}, nil); err == nil {
		t.Error("a model without <s>: expected an error")
	}
	if _, err := m.Piece(2); err == nil {
		t.Error("piece 2 of 2: expected an error")
	}
}
