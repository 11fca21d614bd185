package tabular

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// longestRow is the greatest length of a row in bytes. Without a limit, a quote that is never closed would read the rest of the file as one row.
const longestRow = 16 << 20

// bounded is a Reader that fails when the context ends or a row is too long. Its user sets read to 0 at the start of each row.
type bounded struct {
	ctx  context.Context
	in   io.Reader
	path string
	read int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.read > longestRow {
		return 0, fmt.Errorf("%s: a row has more than %d MiB: is a quote or a bracket not closed?", b.path, longestRow>>20)
	}
	n, err := b.in.Read(p)
	b.read += n
	return n, err
}

func notUTF8(s string) bool { return !utf8.ValidString(s) }

func utf8Error(path string, line int) error {
	return fmt.Errorf("%s: line %d is not UTF-8: convert the file, for example by iconv -f latin1 -t utf-8", path, line)
}
