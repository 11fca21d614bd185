package weights

import (
	"encoding/binary"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// openCheckpoint lists the tensors of an opened checkpoint.
func (f *File) openCheckpoint(r *checkpoint.Reader, err error) error {
	if err != nil {
		return err
	}
	f.closers = append(f.closers, r.Close)
	f.path, f.format = r.Prefix(), checkpointFormat
	var list []tensorfile.Entry
	for _, i := range r.List() {
		list = append(list, tensorfile.Entry{Name: i.Name, DType: i.DType, Shape: i.Shape,
			Load: func() (*tensor.Tensor, error) { return r.Tensor(i.Name) }})
	}
	return f.add(list)
}

// tableMagic ends LevelDB's tables, the format of TensorFlow's first checkpoints.
const tableMagic = 0xdb4775248b80fb57

func isTable(c content) bool {
	var end [8]byte
	if c.size < 48 || tensorfile.ReadFull(c.file, end[:], c.size-8) != nil {
		return false
	}
	return binary.LittleEndian.Uint64(end[:]) == tableMagic
}

// v1 lists the tensors of a checkpoint of TensorFlow's first format.
func (f *File) v1(path string) ([]tensorfile.Entry, error) {
	r, err := bundle.OpenV1(atomicfile.OS{}, []string{path}, nil)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, r.Close)
	var list []tensorfile.Entry
	for _, i := range r.List() {
		list = append(list, tensorfile.Entry{Name: i.Name, DType: i.DType, Shape: i.Shape,
			Load: func() (*tensor.Tensor, error) { return r.Tensor(i.Name) }})
	}
	return list, nil
}
