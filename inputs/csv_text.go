package inputs

import (
	"io"

	"github.com/goestimator/goestimator/internal/format/delimited"
)

// csvText cuts a text into blocks of whole rows.
type csvText struct {
	in      io.Reader
	comment byte
	longest int    // most bytes of a row
	rest    []byte // beginning of a row
	err     error  // error of in, which ends the text
}

// next returns the next block in buf, which grows for a longer row. A block ends with a line feed; the last may be cut within quotes.
// The error is io.EOF at the end, errLongRow, or the reader's error.
func (t *csvText) next(buf []byte, size int) ([]byte, error) {
	buf = append(buf[:0], t.rest...)
	t.rest = t.rest[:0]
	for size = max(size, 2*len(buf)); ; size *= 2 {
		if t.err == nil {
			have := len(buf)
			buf = append(buf, make([]byte, size-have)...)
			for have < len(buf) && t.err == nil { // io.ReadFull reports the end of a file as it does a truncated one
				var n int
				n, t.err = t.in.Read(buf[have:])
				have += n
			}
			buf = buf[:have]
		}
		if eof(t.err) && len(buf) > 0 {
			if buf[len(buf)-1] != '\n' {
				buf = append(buf, '\n')
			}
			return buf, nil
		}
		n := delimited.Whole(buf, t.comment)
		if n > 0 {
			t.rest = append(t.rest, buf[n:]...)
			return buf[:n], nil
		}
		if t.err != nil {
			return nil, t.err
		}
		if len(buf) > t.longest {
			return nil, errLongRow
		}
	}
}

func (t *csvText) more() bool { return t.err == nil }
