package bundle

import (
	"sort"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
	"github.com/goestimator/goestimator/tensor"
)

const verifyChunk = 1 << 20

// Verify reads every tensor and checks its checksum, and that partitioned tensors
// are complete. Open has checked the index. Variant tensors, which need
// their own codec, are left out.
func (r *Reader) Verify() error {
	keys := make([]string, 0, len(r.entries))
	for k := range r.entries {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	buf := make([]byte, verifyChunk)
	for _, k := range keys {
		if err := r.verifyEntry(r.entries[k], buf); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) verifyEntry(e *entry, buf []byte) error {
	switch {
	case len(e.slices) > 0:
		_, err := r.parts(e)
		return err
	case e.dtype == tensor.String:
		_, err := r.read(e)
		return err
	case e.dtype == tensor.Variant:
		return nil
	}
	f := r.files[e.shard]
	var crc uint32
	for part := *e; part.size > 0; {
		n := min(part.size, int64(len(buf)))
		if err := readFull(f, buf[:n], &part); err != nil {
			return err
		}
		crc = maskedcrc.Update(crc, buf[:n])
		part.offset += n
		part.size -= n
	}
	return checkCRC(f, e, maskedcrc.Mask(crc))
}
