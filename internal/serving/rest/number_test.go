package rest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// readFloat reads text as a float64 and a float32.
func readFloat(t interface{ Fatalf(string, ...any) }, text string) (float64, float32) {
	b := append([]byte(text), make([]byte, padding)...)
	if end, why := scanNumber(b, 0); why != "" || end != len(text) {
		t.Fatalf("%s: %q at %d", text, why, end)
	}
	d, end, ok := readDecimal(b, 0)
	if !ok || end != len(text) {
		t.Fatalf("%s: read up to %d", text, end)
	}
	return d.float64(b[:end]), d.float32(b[:end])
}

func checkFloat(t interface{ Fatalf(string, ...any) }, text string) {
	want, _ := strconv.ParseFloat(text, 64)
	f64, f32 := readFloat(t, text)
	if want == 0 && strings.Trim(text, "-0123456789") == "" {
		want = 0 // integers have no negative zero
	}
	if math.Float64bits(f64) != math.Float64bits(want) {
		t.Fatalf("%s: got %v, expected %v", text, f64, want)
	}
	if math.Float32bits(f32) != math.Float32bits(float32(want)) {
		t.Fatalf("%s: got float32 %v, expected %v", text, f32, float32(want))
	}
}

func TestNumbersAreReadToTheNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	formats := []struct {
		verb byte
		prec int
	}{{'g', -1}, {'e', 16}, {'f', 6}, {'g', 9}, {'g', 17}, {'e', 25}, {'f', 20}, {'f', 0}}
	for i := range 200_000 {
		v := math.Float64frombits(rng.Uint64())
		switch i % 4 {
		case 0:
			v = rng.Float64()
		case 1:
			v = float64(math.Float32frombits(rng.Uint32()))
		case 2: // halfway between two float32s, or close to it
			f := rng.Float32()
			v = (float64(f)+float64(math.Nextafter32(f, 2)))/2 + float64(rng.IntN(3)-1)*0x1p-60
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		f := formats[rng.IntN(len(formats))]
		if f.verb == 'f' && math.Abs(v) > 1e30 {
			continue
		}
		checkFloat(t, strconv.FormatFloat(v, f.verb, f.prec, 64))
	}
}

func TestNumbersAsRandomDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkFloat(t, rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number"))
	})
}

func TestIntegersAreKeptApart(t *testing.T) {
	for text, want := range map[string]bool{
		"0": true, "-0": true, "18446744073709551615": true, "18446744073709551616": false, "-9223372036854775808": true,
		"-9223372036854775809": false, "1.0": false, "1e2": false, "99999999999999999999": false, "1844674407370955161": true,
		"18446744073709551609": true, "10000000000000000000": true, "100000000000000000000": false,
	} {
		d, _, ok := readDecimal(append([]byte(text), make([]byte, padding)...), 0)
		if !ok || d.integer != want {
			t.Errorf("%s: integer %v, expected %v", text, d.integer, want)
		}
		if want && d.m != 0 {
			if s := strings.TrimPrefix(text, "-"); strconv.FormatUint(d.m, 10) != s {
				t.Errorf("%s: read %d", text, d.m)
			}
		}
	}
}

func TestTooBig(t *testing.T) {
	for text, want := range map[string]bool{
		"1e308": false, "1e309": true, "1e+308": false, "1e+309": true, "1.5e309": false, "1.5e310": true, "1e-999": false, "0.1e309": false,
		"0.1e310": true, "1" + strings.Repeat("0", 308): false, "1" + strings.Repeat("0", 309): true, "-1" + strings.Repeat("0", 309): true,
		"0e309": true, "1e0000000000308": false, "1e" + strings.Repeat("9", 400): true, "1e-" + strings.Repeat("9", 400): false,
		"1.00000000000000000000000000000e325": false, "1.00000000000000000000000000000e326": true, "1.00000000000000000e325": false, "1.0000000000000000e325": true,
	} {
		_, why := scanNumber(append([]byte(text), make([]byte, padding)...), 0)
		if (why == errTooBig) != want {
			t.Errorf("%.40s: %q, expected too big: %v", text, why, want)
		}
	}
}

func TestWrittenFloatsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 100_000 {
		v := math.Float32frombits(rng.Uint32())
		switch i % 3 {
		case 0:
			v = float32(rng.IntN(2_000_000)) / float32(int(1)<<rng.IntN(20))
		case 1:
			v = float32(rng.IntN(1_000_000)) * float32(math.Pow10(rng.IntN(20)-10))
		}
		if v != v || math.IsInf(float64(v), 0) {
			continue
		}
		got := string(appendFloat(nil, float64(v), 32))
		if want := slowFloat(float64(v), 32, 9); got != want {
			t.Fatalf("%x: wrote %s, expected %s", v, got, want)
		}
		if _, back := readFloat(t, got); back != v {
			t.Fatalf("%s is %v, expected %v", got, back, v)
		}
		d := math.Float64frombits(rng.Uint64())
		if i%2 == 0 {
			d = float64(rng.IntN(1e9)) / 1000
		}
		if math.IsNaN(d) || math.IsInf(d, 0) {
			continue
		}
		if got, want := string(appendFloat(nil, d, 64)), slowFloat(d, 64, 17); got != want {
			t.Fatalf("%x: wrote %s, expected %s", d, got, want)
		}
	}
}

// slowFloat is the rule for numbers in replies, in terms of fmt.
func slowFloat(v float64, bits, digits int) string {
	s := fmt.Sprintf("%.6g", v)
	if back, _ := strconv.ParseFloat(s, bits); back != v {
		s = fmt.Sprintf("%.*g", digits, v)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
