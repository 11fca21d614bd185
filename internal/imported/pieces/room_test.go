package pieces

import (
	"errors"
	"strings"
	"testing"
)

// TestRoom: once there is no more room, work ends with the room's error, wherever that happens.
func TestRoom(t *testing.T) {
	r, full := readRecorded(t), errors.New("full")
	check := func(name string, work func(room Room) error) {
		t.Helper()
		asked := 0
		if err := work(func(int) error { asked++; return nil }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for most := range asked {
			left := most
			err := work(func(int) error {
				if left--; left < 0 {
					return full
				}
				return nil
			})
			if !errors.Is(err, full) {
				t.Fatalf("%s, room %d of %d: got %v", name, most, asked, err)
			}
		}
		if asked == 0 {
			t.Errorf("%s: nobody asked for room", name)
		}
	}
	for _, g := range r.Sentencepiece {
		m, err := Parse(g.Model)
		if err != nil {
			t.Fatal(err)
		}
		check(g.Name, func(room Room) error { _, err := m.Encode(" hello quick 中 world", Options{}, room); return err })
		check(g.Name, func(room Room) error { _, err := m.Decode([]string{"▁he", "?"}, Options{}, room); return err })
	}
	for _, g := range r.Wordpieces {
		m, err := NewWordpieces(g.Model)
		if err != nil {
			t.Fatal(err)
		}
		check("word pieces", func(room Room) error { _, err := m.Split("jumped over", room); return err })
	}
}

// TestLongUnknown: consecutive unknown characters become one token, and its text is not copied for each of them.
func TestLongUnknown(t *testing.T) {
	piece := func(text string, kind byte) []byte {
		return append([]byte{10, byte(len(text) + 4), 10, byte(len(text))}, append([]byte(text), 24, kind)...)
	}
	m, err := Parse(append(piece("<unk>", 2), append(piece("a", 1), piece("▁", 1)...)...))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("中", 300_000)
	tokens, err := m.Encode("a"+long+"a"+"文文", Options{}, nil)
	if err != nil || len(tokens) != 5 || tokens[2] != (Token{long, 0, 1, 1 + len(long)}) || tokens[4].Piece != "文文" {
		t.Errorf("got %d tokens, %v", len(tokens), err)
	}
}
