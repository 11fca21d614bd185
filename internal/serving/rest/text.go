package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// escapes maps the letter after a backslash to its meaning.
var escapes = [256]byte{'"': '"', '/': '/', '\\': '\\', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// plain8 reports whether none of eight bytes is a quote, a backslash or a control character.
func plain8(v uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := v^ones*'"', v^ones*'\\'
	return ((quote-ones)&^quote|(slash-ones)&^slash|(v-ones*0x20)&^v)&tops == 0
}

// scanString checks the string at p and returns the offset after it, or the offset of the error.
func scanString(b []byte, p int) (int, string) {
	p++
	for {
		for p+8 <= len(b) && plain8(binary.LittleEndian.Uint64(b[p:])) {
			p += 8
		}
		switch c := b[p]; {
		case c == '"':
			return p + 1, ""
		case c == '\\':
			end, text := scanEscape(b, p)
			if text != "" {
				return p, text
			}
			p = end
		case c == 0:
			return p, errQuote
		case c < 0x20:
			return p, errEscape
		default:
			p++
		}
	}
}

func scanEscape(b []byte, p int) (end int, text string) {
	if escapes[b[p+1]] != 0 {
		return p + 2, ""
	}
	if b[p+1] != 'u' {
		return p, errEscape
	}
	r, ok := hex4(b, p+2)
	if !ok {
		return p, errHex
	}
	if r < 0xD800 || r > 0xDBFF {
		return p + 6, ""
	}
	if b[p+6] != '\\' || b[p+7] != 'u' {
		return p, errSurrogate
	}
	if r, ok = hex4(b, p+8); !ok {
		return p, errHex
	}
	if r < 0xDC00 || r > 0xDFFF {
		return p, errSurrogate
	}
	return p + 12, ""
}

// hex4 reads four hexadecimal digits; it does not read past the first byte that is not one.
func hex4(b []byte, p int) (r rune, ok bool) {
	for _, shift := range []int{12, 8, 4, 0} {
		c := b[p]
		switch {
		case digit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r |= rune(c) << shift
		p++
	}
	return r, true
}

// stringEnd returns the offset after the string at p of a checked text.
func stringEnd(b []byte, p int) int {
	for {
		p += 1 + bytes.IndexByte(b[p+1:], '"')
		slashes := 0
		for b[p-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return p + 1
		}
	}
}

// unquote returns the meaning of the quoted string s; it copies only if there are escapes.
func unquote(s []byte) []byte {
	s = s[1 : len(s)-1]
	i := bytes.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for i < len(s) {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		if e := escapes[s[i+1]]; e != 0 {
			out = append(out, e)
			i += 2
			continue
		}
		r, _ := hex4(s, i+2)
		i += 6
		if r >= 0xD800 && r <= 0xDBFF {
			low, _ := hex4(s, i+2)
			r = (r-0xD800)<<10 | (low - 0xDC00) + 0x10000
			i += 6
		}
		out = appendRune(out, r)
	}
	return out
}

// appendRune encodes r. Unlike utf8.AppendRune it also encodes a lone surrogate, as RapidJSON does.
func appendRune(out []byte, r rune) []byte {
	if r >= 0xDC00 && r <= 0xDFFF {
		return append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(out, r)
}

// decodeBase64 decodes standard base64 as absl::Base64Unescape does: white space is skipped, padding of '=' or '.' may
// be missing but not wrong.
func decodeBase64(s []byte) ([]byte, bool) {
	const white = " \t\n\v\f\r"
	if bytes.ContainsAny(s, white) {
		dense := make([]byte, 0, len(s))
		for _, b := range s {
			if strings.IndexByte(white, b) < 0 {
				dense = append(dense, b)
			}
		}
		s = dense
	}
	core := bytes.TrimRight(s, "=.")
	if pads := len(s) - len(core); pads != 0 && (pads > 2 || len(s)%4 != 0) {
		return nil, false
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(core)))
	n, err := base64.RawStdEncoding.Decode(out, core)
	return out[:n], err == nil
}

// quotedSize is the number of bytes that appendQuoted appends.
func quotedSize(s []byte) int {
	n := len(s) + 2
	for _, c := range s {
		switch {
		case c == '"', c == '\\', c == '\b', c == '\t', c == '\n', c == '\f', c == '\r':
			n++
		case c < 0x20:
			n += 5
		}
	}
	return n
}

// appendQuoted appends s as a JSON string, with RapidJSON's escapes: bytes from 0x80 on are copied.
func appendQuoted(out []byte, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	out = append(out, '"')
	start := 0
	for i, c := range s {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\f':
			out = append(out, '\\', 'f')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(out, s[start:]...), '"')
}
