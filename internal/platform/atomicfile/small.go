package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// mostSmall is the most bytes that ReadSmall reads.
const mostSmall = 16 << 20

// ReadSmall returns the content of a file that people write or name, such as a config, a token or a certificate, of at most 16 MiB. It
// may be a pipe. A device that never ends is an error, and takes no more memory than that.
func ReadSmall(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSmallFrom(f, path)
}

// ReadSmallFrom is ReadSmall for an open reader, such as standard input; name is for errors.
func ReadSmallFrom(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostSmall+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostSmall {
		return nil, fmt.Errorf("read %s: it has more than %d bytes, expected at most that many: is it the right file?", name, mostSmall)
	}
	return text, nil
}
