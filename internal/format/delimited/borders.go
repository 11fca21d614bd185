package delimited

import "bytes"

// Whole returns the length of the complete records at the beginning of text, 0 if there are none.
// A record ends with a line feed outside quotes. Lines that begin with comment are skipped; 0: no
// comments. If quotes are wrong, only the records before the first wrong one are complete.
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
