package inputs

import (
	"slices"
	"strings"
	"testing"
)

// TestWholeNumbers: a JSON number with an integer value is an integer even if it has a point or an exponent; strings are unchanged.
func TestWholeNumbers(t *testing.T) {
	columns := []ColumnSpec{{Name: "id", DType: "int64"}, {Name: "s", DType: "string"}, {Name: "y", Role: Label, Vocabulary: []string{"0", "8"}}}
	read := func(id string) ([]NamedTensor, error) {
		line := `{"id": ` + id + `, "s": 8.0, "y": 8.0}`
		ds, err := JSONL([]string{write(t, "t.jsonl", []byte(line))}, ArrowOptions{Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		it, err := ds.Iterate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		return nextTensors(t, it, ds.Schema())
	}
	for id, want := range map[string]int64{"8": 8, "8.0": 8, "-8.00": -8, "8e2": 800, "-0.0": 0, "9223372036854775807": 9223372036854775807, "9007199254740992.0": 1 << 53} {
		got, err := read(id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		if n := got[0].Tensor.Int(0); n != want {
			t.Errorf("%s: got %d", id, n)
		}
		if s, y := string(got[1].Tensor.Strings[0]), got[2].Tensor.Int(0); s != "8.0" || y != 1 {
			t.Errorf("got the text %q and class %d, expected 8.0 and 1", s, y)
		}
	}
	words := []ColumnSpec{{Name: "k", Vocabulary: []string{"8", "9.0", "70"}}}
	line := `{"k": 8.0}` + "\n" + `{"k": 9.0}` + "\n" + `{"k": 7e1}` + "\n" + `{"k": "8.0"}` + "\n" + `{"k": 8.5}` + "\n"
	ds, err := JSONL([]string{write(t, "k.jsonl", []byte(line))}, ArrowOptions{Columns: words})
	if err != nil {
		t.Fatal(err)
	}
	if got := column[int64](t, ds, "k"); !slices.Equal(got, []int64{0, 1, 2, -1, -1}) {
		t.Errorf("numbers of a vocabulary: got %v", got)
	}
	for _, id := range []string{"8.5", "1e30", `"8.0"`} {
		if _, err := read(id); err == nil || !strings.Contains(err.Error(), "is not an int64 number") {
			t.Errorf("%s: got %v", id, err)
		}
	}
}
