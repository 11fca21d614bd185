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

// ErrChecksum is wrapped by errors that report bytes that differ from the published ones.
var ErrChecksum = errors.New("wrong checksum")

// verify reads r to the end and checks its size and checksum.
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

// present reports whether a file is there and complete. A file with other content is an error, since it belongs to the user.
func present(path string, size int64, sum string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, notPublished(path, errors.New("it is not a file")) // opening a pipe would wait for a writer
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
