package eager

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// unicodeOps convert between texts and code points.
var unicodeOps = map[*ops.Def]maker{
	ops.UnicodeDecode:            unicodeDecode,
	ops.UnicodeDecodeWithOffsets: unicodeDecode,
	ops.UnicodeEncode:            unicodeEncode,
	ops.UnicodeTranscode:         unicodeTranscode,
	ops.UnicodeScript:            plain(unicodeScript),
}

// faults says how to handle invalid characters.
type faults struct {
	errors   string // strict, replace or ignore
	by       rune
	controls bool // control characters are replaced too
}

func faultsOf(s *site) (faults, error) {
	f := faults{s.str("errors", "replace"), rune(s.node.Int("replacement_char", 0xfffd)), s.boolean("replace_control_characters", false)}
	switch {
	case f.errors != "strict" && f.errors != "replace" && f.errors != "ignore":
		return f, fmt.Errorf("attribute errors: expected strict, replace or ignore, got %q", f.errors)
	case !validRune(f.by):
		return f, fmt.Errorf("attribute replacement_char: %d is no character", f.by)
	}
	return f, nil
}

func validRune(r rune) bool { return utf8.ValidRune(r) }

// decoder reads the first character of a text, -1 if it is invalid, and its size in bytes.
type decoder func(b []byte) (r rune, size int)

// decoders are the encodings by converters' names, in upper case.
var decoders = map[string]decoder{
	"UTF-8": decodeUTF8, "UTF8": decodeUTF8, "US-ASCII": decodeASCII, "ASCII": decodeASCII,
	"ISO-8859-1": decodeLatin, "LATIN1": decodeLatin, "LATIN-1": decodeLatin,
	"UTF-16-BE": decodeUTF16(binary.BigEndian), "UTF-16BE": decodeUTF16(binary.BigEndian), "UTF-16-LE": decodeUTF16(binary.LittleEndian), "UTF-16LE": decodeUTF16(binary.LittleEndian),
	"UTF-32-BE": decodeUTF32(binary.BigEndian), "UTF-32BE": decodeUTF32(binary.BigEndian), "UTF-32-LE": decodeUTF32(binary.LittleEndian), "UTF-32LE": decodeUTF32(binary.LittleEndian),
}

func decoderOf(name string) (decoder, error) {
	if d := decoders[strings.ToUpper(name)]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("Could not create converter for input encoding: %s %w", name, ErrUnsupported)
}

// decodeUTF8 reads the longest beginning of a character as one fault, as Unicode recommends.
func decodeUTF8(b []byte) (rune, int) {
	r, size := utf8.DecodeRune(b)
	if r != utf8.RuneError || size > 1 {
		return r, size
	}
	for n := 2; n <= min(len(b), 3); n++ {
		if utf8.FullRune(b[:n]) { // no character begins with b[:n]
			return -1, n - 1
		}
		if n == len(b) {
			return -1, n
		}
	}
	return -1, min(len(b), 3)
}

func decodeASCII(b []byte) (rune, int) {
	if b[0] >= utf8.RuneSelf {
		return -1, 1
	}
	return rune(b[0]), 1
}

func decodeLatin(b []byte) (rune, int) { return rune(b[0]), 1 }

func decodeUTF16(order binary.ByteOrder) decoder {
	return func(b []byte) (rune, int) {
		if len(b) < 2 {
			return -1, len(b)
		}
		r := rune(order.Uint16(b))
		switch {
		case r < 0xd800 || r > 0xdfff:
			return r, 2
		case r >= 0xdc00 || len(b) < 4:
			return -1, 2
		}
		low := rune(order.Uint16(b[2:]))
		if low < 0xdc00 || low > 0xdfff {
			return -1, 2
		}
		return (r-0xd800)<<10 + low - 0xdc00 + 0x10000, 4
	}
}

func decodeUTF32(order binary.ByteOrder) decoder {
	return func(b []byte) (rune, int) {
		if len(b) < 4 {
			return -1, len(b)
		}
		if v := order.Uint32(b); v <= unicode.MaxRune && validRune(rune(v)) {
			return rune(v), 4
		}
		return -1, 4
	}
}

// each calls f for each character of a text with the index of its first byte.
func (f faults) each(decode decoder, b []byte, visit func(r rune, at int)) error {
	for at := 0; at < len(b); {
		r, size := decode(b[at:])
		switch {
		case r < 0 && f.errors == "strict":
			return fmt.Errorf("Invalid formatting on input string")
		case r >= 0 && !(f.controls && r < 0x20):
			visit(r, at)
		case f.errors != "ignore":
			visit(f.by, at)
		}
		at += size
	}
	return nil
}

// unicodeDecode outputs a ragged tensor of the characters of texts.
func unicodeDecode(s *site) (kernel, error) {
	f, err := faultsOf(s)
	if err != nil {
		return nil, err
	}
	decode, err := decoderOf(s.str("input_encoding", ""))
	if err != nil {
		return nil, err
	}
	splits := s.dtype("Tsplits", tensor.Int64)
	return func(c call) error {
		if err := want("input", c.t(0), tensor.String); err != nil {
			return err
		}
		n := 0
		for _, b := range c.t(0).Strings {
			n += len(b)
		}
		if err := c.room(n, 16); err != nil {
			return err
		}
		chars, places, ends := make([]int, 0, n), make([]int, 0, n), []int{0}
		for _, b := range c.t(0).Strings {
			if err := f.each(decode, b, func(r rune, at int) { chars, places = append(chars, int(r)), append(places, at) }); err != nil {
				return err
			}
			ends = append(ends, len(chars))
		}
		if err := c.outputInts(0, splits, ends, len(ends)); err != nil {
			return err
		}
		if err := c.outputInts(1, tensor.Int32, chars, len(chars)); err != nil || len(c.out) < 3 {
			return err
		}
		return c.outputInts(2, tensor.Int64, places, len(places))
	}, nil
}

// encoders append a character to a text.
var encoders = map[string]func(b []byte, r rune) []byte{
	"UTF-8": utf8.AppendRune,
	"UTF-16-BE": func(b []byte, r rune) []byte {
		if r < 0x10000 {
			return binary.BigEndian.AppendUint16(b, uint16(r))
		}
		r -= 0x10000
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, uint16(0xd800+r>>10)), uint16(0xdc00+r&0x3ff))
	},
	"UTF-32-BE": func(b []byte, r rune) []byte { return binary.BigEndian.AppendUint32(b, uint32(r)) },
}

// unicodeEncode encodes the rows of a ragged tensor of characters as texts.
func unicodeEncode(s *site) (kernel, error) {
	f, err := faultsOf(s)
	encode := encoders[s.str("output_encoding", "")]
	if encode == nil && err == nil {
		err = fmt.Errorf("attribute output_encoding: expected UTF-8, UTF-16-BE or UTF-32-BE, got %q", s.str("output_encoding", ""))
	}
	return func(c call) error {
		values := tensor.Values[int32](c.t(0))
		ends, err := c.vector("input_splits", c.t(1))
		if err != nil {
			return err
		}
		if c.t(0).DType != tensor.Int32 || len(c.t(0).Shape) != 1 || len(ends) == 0 || ends[0] != 0 || ends[len(ends)-1] != len(values) {
			return fmt.Errorf("expected a vector of int32 and splits from 0 to its length %d, got shape %s and splits %v", len(values), shapeText(c.t(0).Shape), ends)
		}
		out, err := c.output(0, tensor.String, len(ends)-1)
		if err != nil {
			return err
		}
		room := c.textRoom()
		for i := range out.Strings {
			if ends[i+1] < ends[i] || ends[i+1] > len(values) {
				return fmt.Errorf("Values in input_splits must be equal or in ascending order.")
			}
			b := []byte{}
			for _, v := range values[ends[i]:ends[i+1]] {
				switch {
				case validRune(v):
					b = encode(b, v)
				case f.errors == "strict":
					return fmt.Errorf("Code point is out of range for Unicode, or a noncharacter.")
				case f.errors == "replace":
					b = encode(b, f.by)
				case v >= 0 && v <= unicode.MaxRune: // a surrogate is never left out
					b = encode(b, v)
				}
			}
			if err := room.take(len(b)); err != nil {
				return err
			}
			out.Strings[i] = b
		}
		return nil
	}, err
}

// unicodeTranscode converts texts to another encoding.
func unicodeTranscode(s *site) (kernel, error) {
	f, err := faultsOf(s)
	if err != nil {
		return nil, err
	}
	decode, err := decoderOf(s.str("input_encoding", ""))
	if err != nil {
		return nil, err
	}
	encode := encoders[s.str("output_encoding", "")]
	if encode == nil {
		return nil, fmt.Errorf("attribute output_encoding: expected UTF-8, UTF-16-BE or UTF-32-BE, got %q", s.str("output_encoding", ""))
	}
	return eachStringErr(func(text []byte) ([]byte, error) {
		b := make([]byte, 0, len(text))
		err := f.each(decode, text, func(r rune, _ int) { b = encode(b, r) })
		return b, err
	}), nil
}
