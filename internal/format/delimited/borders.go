package delimited

import "bytes"

// Whole returns the length of the records that end within text, which begins with a record; 0 where none ends.
// A record ends with a line feed that is not within quotes. Lines that begin with comment are passed over; 0: there are
// none. In a text whose quotes are wrong, the records before the first wrong one are whole.
func Whole(text []byte, comment byte) int {
	if comment != 0 {
		return wholeByLine(text, comment)
	}
	quotes := bytes.Count(text, quote)
	for end := len(text); ; {
		at := bytes.LastIndexByte(text[:end], '\n')
		if at < 0 {
			return 0
		}
		quotes -= bytes.Count(text[at:end], quote)
		if quotes%2 == 0 {
			return at + 1
		}
		end = at
	}
}

var quote = []byte{'"'}

func wholeByLine(text []byte, comment byte) int {
	whole, quoted := 0, false
	for at := 0; at < len(text); {
		n := bytes.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			break
		}
		line := text[at : at+n]
		at += n
		if quoted || line[0] != comment {
			quoted = quoted != (bytes.Count(line, quote)%2 == 1)
		}
		if !quoted {
			whole = at
		}
	}
	return whole
}
