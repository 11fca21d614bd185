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
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := verify(f, size, sum); err != nil {
		return false, fmt.Errorf("%s is there, but is not the published file: %w: move it away, or choose another folder", path, err)
	}
	return true, nil
}
