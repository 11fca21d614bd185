package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrChecksum is in the chain of errors that say that bytes are not those that were published.
var ErrChecksum = errors.New("wrong checksum")

// verify reads to the end and reports whether what was read has this size and checksum.
func verify(r io.Reader, size int64, sum string) error {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return err
	}
	return compare(n, h.Sum(nil), size, sum)
}

func compare(n int64, got []byte, size int64, sum string) error {
	switch {
	case n != size:
		return fmt.Errorf("%w: %d bytes, expected %d", ErrChecksum, n, size)
	case hex.EncodeToString(got) != sum:
		return fmt.Errorf("%w: sha256 %x, expected %s", ErrChecksum, got, sum)
	}
	return nil
}

// present reports whether a file is there and whole. One with other bytes is an error: it is the user's.
func present(path string, size int64, sum string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, notPublished(path, errors.New("it is not a file")) // to open a pipe would wait for a writer
	case info.Size() != size:
		return false, notPublished(path, compare(info.Size(), nil, size, sum))
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := verify(f, size, sum); err != nil {
		return false, notPublished(path, err)
	}
	return true, nil
}

func notPublished(path string, err error) error {
	return fmt.Errorf("%s is there, but is not the published file: %w: move it away, or choose another folder", path, err)
}
