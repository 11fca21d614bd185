package inputs

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goestimator/goestimator/tensor"
)

// fileKind is a kind of file, recognized by its first bytes, and the way to
// read it.
type fileKind struct {
	format string // a Spec.Format; "": no format reads it
	what   string
	fix    string
}

// headBytes is the number of bytes that fileKind examines.
const headBytes = 1 << 10

// headOf returns the first bytes of a text; for a stream, the bytes that have arrived.
func headOf(name string, text *bufio.Reader) []byte {
	n := headBytes
	if name == stdinName {
		_, _ = text.Peek(1)
		n = min(n, text.Buffered())
	}
	head, _ := text.Peek(n)
	return head
}

// ofStream keeps the first bytes of a stream, nil for a file.
func ofStream(name string, head []byte) []byte {
	if name != stdinName {
		return nil
	}
	return append([]byte{}, head...)
}

// fileMarks are the bytes that files begin with.
var fileMarks = []struct {
	mark string
	fileKind
}{
	{"\xff\xfe\x00\x00", utf32},
	{"\x00\x00\xfe\xff", utf32},
	{"\xff\xfe", utf16Text},
	{"\xfe\xff", utf16Text},
	{arrowMagic + "\x00\x00", fileKind{"arrow", "an Arrow file", "set format: arrow"}},
	{"PK\x03\x04", fileKind{"", "a ZIP archive or an Excel workbook", "unpack it, or save the table as CSV"}},
	{"\xd0\xcf\x11\xe0", fileKind{"", "a file of Microsoft Office", "save the table as CSV"}},
	{"\xfd7zXZ", packedAs("xz")},
	{"\x28\xb5\x2f\xfd", packedAs("zstd twice")},
	{"7z\xbc\xaf", packedAs("7z")},
	{"\x1f\x8b", packedAs("gzip twice")},
	{"\x89PNG", fileKind{"", "a PNG image", "name a file of data"}},
	{"\xff\xd8\xff", fileKind{"", "a JPEG image", "name a file of data"}},
	{"%PDF-", fileKind{"", "a PDF document", "name a file of data"}},
	{"\x89HDF", fileKind{"", "an HDF5 file", "write it as Parquet or CSV"}},
	{"\x93NUMPY", fileKind{"npy", "a NumPy array", "set format: npy"}},
	{"SQLite format 3\x00", fileKind{"", "an SQLite database", "set format: sql and sql.driver: sqlite, or export the table as CSV"}},
	{"\x80\x02", pickle},
	{"\x80\x03", pickle},
	{"\x80\x04", pickle},
	{"version https://git-lfs", fileKind{"", "a pointer of Git LFS", "get the file itself with git lfs pull"}},
}

var (
	utf16Text  = fileKind{"", "UTF-16 text", "save it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"}
	utf32      = fileKind{"", "UTF-32 text", "save it as UTF-8, for example with iconv -f UTF-32 -t UTF-8"}
	someBinary = fileKind{"", "a binary file", "name a file of text, or set the format that it has"}
	pickle     = fileKind{"", "a Python pickle", "write it as Parquet or CSV; CIFAR-10 comes in a binary version, too"}
)

func packedAs(name string) fileKind {
	return fileKind{"", "a file packed with " + name, "unpack it; gzip, zstd and bzip2 are unpacked on the fly, once"}
}

// binaryKind returns the kind of a file that cannot be UTF-8 text, by its first
// bytes.
func binaryKind(head []byte) (fileKind, bool) {
	for _, m := range fileMarks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			return m.fileKind, true
		}
	}
	zero := bytes.IndexByte(head, 0) >= 0
	switch {
	case zero && bytes.HasPrefix(head, []byte("PAR1")): // otherwise it is a column name
		return fileKind{"parquet", "a Parquet file", "set format: parquet"}, true
	case bytes.HasPrefix(head, []byte("BZh")) && bytes.HasPrefix(head[min(len(head), 4):], []byte("1AY&SY")):
		return packedAs("bzip2 twice"), true
	case len(head) > 3 && head[0] == 0 && head[1] == 0 && idxTypes[head[2]] != tensor.Invalid && head[3] > 0 && head[3] < 9:
		return fileKind{"idx", "an IDX file", "set format: idx"}, true
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return fileKind{"", "a tar archive", "unpack it"}, true
	case startsRecord(head):
		return fileKind{"tfrecord", "a TFRecord file", "set format: tfrecord"}, true
	case isUTF16(head, 1):
		return fileKind{"", "UTF-16 text (little-endian, without its mark)", "save it as UTF-8, for example with iconv -f UTF-16LE -t UTF-8"}, true
	case isUTF16(head, 0):
		return fileKind{"", "UTF-16 text (big-endian, without its mark)", "save it as UTF-8, for example with iconv -f UTF-16BE -t UTF-8"}, true
	case zero:
		return someBinary, true
	}
	return fileKind{}, false
}

// isUTF16 reports whether the first bytes of a file are UTF-16 text. In ASCII characters, such as digits and
// line ends, the zero byte comes second (zeroAt 1) or first (0). Either nearly all characters are
// ASCII, or all are text and at least every fourth is ASCII.
func isUTF16(head []byte, zeroAt int) bool {
	units := make([]uint16, len(head)/2)
	ascii := 0
	for i := range units {
		low, high := head[2*i+1-zeroAt], head[2*i+zeroAt]
		units[i] = uint16(high)<<8 | uint16(low)
		if high == 0 && low != 0 {
			ascii++
		}
	}
	if len(units) < 4 {
		return false
	}
	return ascii*10 >= len(units)*9 || ascii*4 >= len(units) && isText([]byte(string(utf16.Decode(units))))
}

// textKind returns the kind of a text, by its first bytes.
func textKind(head []byte) (fileKind, bool) {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	switch {
	case len(head) == 0:
		return fileKind{"", "empty", "get it again"}, true
	case len(head) > 14 && bytes.EqualFold(head[:14], []byte("<!doctype html")), len(head) > 5 && bytes.EqualFold(head[:5], []byte("<html")):
		return fileKind{"", "a web page", "get the file again: the page tells why it did not come"}, true
	case begins(head, "{", `"}`):
		return fileKind{"jsonl", "JSON", "set format: jsonl, an object on each line"}, true
	case begins(head, "[", "{["):
		return fileKind{"", "a JSON list", "write one object on each line, for example with jq -c '.[]', and set format: jsonl"}, true
	case isText(head):
		return fileKind{"csv", "text", "name another file, or set format: csv"}, true
	}
	return fileKind{}, false
}

// isText reports whether b is UTF-8 text, except perhaps for a character that is cut at the end.
func isText(head []byte) bool {
	for i := 0; i < len(head); {
		c, n := utf8.DecodeRune(head[i:])
		if c == utf8.RuneError && n == 1 && len(head)-i >= utf8.UTFMax || unicode.IsControl(c) && !unicode.IsSpace(c) {
			return false
		}
		i += n
	}
	return true
}

// begins reports whether the first two characters of a text, ignoring space, are first and one of then.
func begins(head []byte, first, then string) bool {
	rest, ok := bytes.CutPrefix(head, []byte(first))
	rest = bytes.TrimSpace(rest)
	return ok && len(rest) > 0 && bytes.IndexByte([]byte(then), rest[0]) >= 0
}

// mistaken returns an error if a file is of another kind than expected, nil if its first bytes
// do not show it.
func mistaken(name, format, expected string, head []byte) error {
	k, ok := binaryKind(head)
	if !ok {
		k, ok = textKind(head)
	}
	if !ok || k.format == format || k == someBinary {
		return nil
	}
	return fileError(name, "this is %s, expected %s: %s", k.what, expected, k.fix)
}

// mistakenFile is mistaken for a file that has to be opened again.
func mistakenFile(ctx context.Context, name, format, expected string) error {
	f, err := openFile(ctx, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // a partial head proves nothing
		return nil
	}
	return mistaken(name, format, expected, head[:n])
}

// notA returns the error of a file without the magic bytes of its format. It names the actual kind if that is
// known.
func notA(ctx context.Context, name, format, expected string, err error) error {
	if other := mistakenFile(ctx, name, format, expected); other != nil {
		return other
	}
	return fileError(name, "this is not %s, or it is damaged: %w", expected, err)
}

// checkText refuses a file that cannot be UTF-8 text before it is parsed.
func checkText(name, expected string, head []byte) error {
	if k, ok := binaryKind(head); ok {
		return fileError(name, "this is %s, expected %s: %s", k.what, expected, k.fix)
	}
	return nil
}

// otherText returns a hint for the error of a cell that is not UTF-8, "" for any other cell.
func otherText(cell string) string {
	if utf8.ValidString(cell) {
		return ""
	}
	return " (the text is not UTF-8: save it so, for example with iconv -f LATIN1 -t UTF-8)"
}
