package delimited

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// checkNumber compares all readers with strconv over the whole text.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	b := []byte(text)
	if v, next, ok := Float32(b, 0, '.'); ok && next == len(b) {
		want, err := strconv.ParseFloat(text, 32)
		if err != nil || math.Float32bits(v) != math.Float32bits(float32(want)) {
			t.Errorf("Float32(%q) = %v, expected %v (%v)", text, v, float32(want), err)
		}
	}
	if v, next, ok := Float64(b, 0, '.'); ok && next == len(b) {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(v) != math.Float64bits(want) {
			t.Errorf("Float64(%q) = %v, expected %v (%v)", text, v, want, err)
		}
	}
	if v, next, ok := Int(b, 0); ok && next == len(b) {
		want, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v != want {
			t.Errorf("Int(%q) = %v, expected %v (%v)", text, v, want, err)
		}
	}
}

// middle returns a decimal close to the midpoint of two neighbouring float32 numbers.
func middle(r *rand.Rand, digits int) string {
	v := math.Float32frombits(r.Uint32() & 0x7fffffff)
	up := math.Float32frombits(math.Float32bits(v) + 1)
	return strconv.FormatFloat((float64(v)+float64(up))/2, "efg"[r.IntN(3)], digits, 64)
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "-0", "+0", "0.0", ".5", "5.", ".", "", "-", "1e", "1e5", "1E-5", "1e+5", "1e400", "1e-400", "0e400", "123456789012345678", "1234567890123456789",
		"12345678901234567890", "18446744073709551615", "18446744073709551616", "0.00000000000000000000001234567", "16777217", "16777216.0000001", "33554435", "3.4028235e38",
		"3.4028236e38", "1.1754944e-38", "1.1754942e-38", "1e-45", "9007199254740993", "9007199254740992.5", "0.1", "0.12345678", "0.123456789012345678", "12345678.12345678", "1_0",
		"0x1p-2", "inf", "nan", "99999999999999999999999999", "00000000000000000000000000001.5", "1e22", "1e23"} {
		checkNumber(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		checkNumber(t, middle(r, r.IntN(20)))
		checkNumber(t, strconv.FormatFloat(math.Float64frombits(r.Uint64()), 'g', r.IntN(18)-1, 64))
		checkNumber(t, strconv.FormatFloat(r.NormFloat64(), 'f', r.IntN(20)-1, 64))
		checkNumber(t, strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10))
	}
}

// TestPlainNumbersAreFast: usual numbers are not left to strconv.
func TestPlainNumbersAreFast(t *testing.T) {
	for _, text := range []string{"0", "-1", "39", "0.5", "-1.2345678", "0.12345678", "1e-3", "123456.789", "-0.98765432109876543"} {
		if _, next, ok := Float32([]byte(text+",1"), 0, '.'); !ok || next != len(text) {
			t.Errorf("Float32(%q): %v, next %d", text, ok, next)
		}
	}
	if v, next, ok := Float64([]byte("x1,25;"), 1, ','); !ok || next != 5 || v != 1.25 {
		t.Errorf("decimal comma: %v %d %v", v, next, ok)
	}
}

func FuzzNumbers(f *testing.F) {
	f.Add("1.5")
	f.Add("-12345678901234567.25e-10")
	f.Fuzz(checkNumber)
}

// records reads a text like encoding/csv, up to the first error.
func records(text []byte, comment rune) (out []string, err error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.Comment = -1, comment
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%q", cells))
	}
}

// checkWhole: the records of the whole part, followed by the records of the rest, are the records of the text.
func checkWhole(t *testing.T, text []byte, comment byte) {
	t.Helper()
	n := Whole(text, comment)
	if n > 0 && text[n-1] != '\n' {
		t.Fatalf("%q ends at %d, not behind a line feed", text, n)
	}
	all, err := records(text, rune(comment))
	if err != nil {
		return
	}
	head, err1 := records(text[:n], rune(comment))
	tail, err2 := records(text[n:], rune(comment))
	if err1 != nil || err2 != nil || strings.Join(append(head, tail...), "\n") != strings.Join(all, "\n") {
		t.Fatalf("%q: cut at %d: %v %v", text, n, err1, err2)
	}
	if last := bytes.LastIndexByte(text, '\n') + 1; !bytes.ContainsRune(text, '"') && n != last {
		t.Fatalf("%q: cut at %d, expected %d", text, n, last)
	}
}

func TestWhole(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\nb", "\"a\nb\"\nc", "\"a\nb", "a\n\"b\nc", "\"a\"\"\n\"\nb", "#\"\na\nb", "#\"\n\"a\nb\"\nc", "\"a\n#\"\nb\n"} {
		checkWhole(t, []byte(text), 0)
		checkWhole(t, []byte(text), '#')
	}
	if n := Whole([]byte("a\n\"b\nc\"\nd"), 0); n != 8 {
		t.Errorf("cut at %d, expected 8", n)
	}
	if n := Whole([]byte("a\n\"b\nc"), 0); n != 2 {
		t.Errorf("cut at %d, expected 2", n)
	}
}

func FuzzWhole(f *testing.F) {
	f.Add([]byte("a,\"b\n\"\n#\"\nc\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, comments bool) {
		if comments {
			checkWhole(t, text, '#')
		} else {
			checkWhole(t, text, 0)
		}
	})
}

func BenchmarkFloat32(b *testing.B) {
	text := []byte("-0.12345678,")
	for range b.N {
		if _, _, ok := Float32(text, 0, '.'); !ok {
			b.Fatal("slow")
		}
	}
}
