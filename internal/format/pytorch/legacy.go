package pytorch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// The first two pickles of a file from before PyTorch 1.6: a magic number, and the version of the format.
const (
	legacyMagic   = number("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")
	legacyVersion = int64(1001)
)

// IsLegacy reports whether a file is from before PyTorch 1.6. head is its beginning, at least 16 bytes.
func IsLegacy(head []byte) bool {
	return len(head) > 14 && head[0] == 0x80 && bytes.HasPrefix(head[2:], []byte("\x8a\x0a"+legacyMagic))
}

// IsPickle reports whether a file begins with a pickle of protocol 2 to 5.
func IsPickle(head []byte) bool {
	return len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// stream is a file of consecutive pickles, followed by the storages: for each, the number of elements (int64) and the
// elements. It is little-endian on any machine.
type stream struct {
	r        io.ReaderAt
	at       int64
	size     int64
	storages map[string]int64 // positions of their elements
}

// ReadLegacy lists the tensors of a file from before PyTorch 1.6, or of torch.save with _use_new_zipfile_serialization=False,
// sorted by name.
func ReadLegacy(r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	s := &stream{r: r, size: size, storages: map[string]int64{}}
	var parts [5]pickled
	for i, what := range []string{"magic number", "version", "system", "tensors", "keys of the storages"} {
		part, err := unpickle(io.NewSectionReader(r, s.at, size-s.at), size-s.at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		parts[i] = part
		s.at += part.size
	}
	if parts[0].value != legacyMagic || parts[1].value != legacyVersion {
		return nil, tensorfile.Errorf("another version of the format, expected %d", legacyVersion)
	}
	if err := s.locate(parts[4].value, parts[3].storages); err != nil {
		return nil, err
	}
	return entries(parts[3].value, s, limits{file: size, pickle: parts[3].size})
}

// locate finds the storages, which are in the order of keys.
func (s *stream) locate(keys any, storages map[string]*storage) error {
	list, ok := keys.(*list)
	if !ok {
		return tensorfile.Errorf("the keys of the storages are %s, expected a list", kindOf(keys))
	}
	for _, k := range list.items {
		key, _ := k.(string)
		known := storages[key]
		if known == nil {
			return tensorfile.Errorf("storage %.100q, which is not in the pickle", key)
		}
		var count [8]byte
		if err := tensorfile.ReadFull(s.r, count[:], s.at); err != nil {
			return fmt.Errorf("storage %.100q: %w", key, err)
		}
		if n := binary.LittleEndian.Uint64(count[:]); n != uint64(known.count) {
			return tensorfile.Errorf("storage %.100q has %d elements, expected %d", key, n, known.count)
		}
		s.at += 8
		if known.size() > s.size-s.at {
			return tensorfile.Errorf("storage %.100q takes %d bytes, and the file has %d more", key, known.size(), s.size-s.at)
		}
		s.storages[key] = s.at
		s.at += known.size()
	}
	if s.at != s.size {
		return tensorfile.Errorf("%d bytes follow the last storage", s.size-s.at)
	}
	return nil
}

func (s *stream) find(key string, size int64) (place, error) {
	at, ok := s.storages[key]
	if !ok || size > s.size-at {
		return place{}, tensorfile.Errorf("storage %.100q is not in the file", key)
	}
	return place{r: io.NewSectionReader(s.r, at, size)}, nil
}
