package bundle

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/syndtr/goleveldb/leveldb/table"
	versionspb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	slicespb "github.com/wamuir/graft/tensorflow/core/util/saved_tensor_slice_proto_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// V1Writer writes a file of TensorFlow's first checkpoint format, see V1. It keeps the tensors until Write.
type V1Writer struct {
	tensors []*slicespb.SavedSliceMeta
	index   map[string]*slicespb.SavedSliceMeta
	parts   map[string]v1Part // by key
}

// v1Part is a slice of a tensor.
type v1Part struct {
	name   string
	slice  Slice
	values *tensor.Tensor
}

// NewV1Writer returns an empty writer.
func NewV1Writer() *V1Writer {
	return &V1Writer{index: map[string]*slicespb.SavedSliceMeta{}, parts: map[string]v1Part{}}
}

// Add adds a tensor.
func (w *V1Writer) Add(name string, t *tensor.Tensor) error {
	return w.AddSlice(name, t.Shape, slices.Repeat(Slice{{Length: -1}}, len(t.Shape)), t)
}

// AddSlice adds a part of a partitioned tensor with the shape full. The other parts may be in other files. Types
// without values in the format (bfloat16, uint32 and uint64) give ErrUnsupported.
func (w *V1Writer) AddSlice(name string, full []int, s Slice, part *tensor.Tensor) error {
	shape, err := s.shapeIn(full)
	if err == nil {
		err = checkTensor(part)
	}
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if !slices.Equal(shape, part.Shape) {
		return fmt.Errorf("tensor %q: slice %v has shape %v, got %v", name, s, shape, part.Shape)
	}
	if slices.Contains([]tensor.DType{tensor.BFloat16, tensor.Uint32, tensor.Uint64}, part.DType) {
		return fmt.Errorf("tensor %q: a checkpoint of version 1 has no tensors of %s: %w", name, part.DType, ErrUnsupported)
	}
	meta := w.index[name]
	if meta == nil {
		meta = &slicespb.SavedSliceMeta{Name: name, Shape: shapeOf(full), Type: typeOf(part.DType)}
		w.index[name], w.tensors = meta, append(w.tensors, meta)
	}
	if before, _ := dimensions(meta.Shape); meta.Type != typeOf(part.DType) || !slices.Equal(before, full) {
		return fmt.Errorf("tensor %q: slice of %s%v, the others are of %s%v", name, part.DType, full, tensor.DType(meta.Type), before)
	}
	key := sliceKey(name, s)
	if _, ok := w.parts[key]; ok {
		return fmt.Errorf("tensor %q: slice %v is there twice", name, s)
	}
	w.parts[key] = v1Part{name, s, part}
	meta.Slice = append(meta.Slice, sliceToProto(s))
	return nil
}

// Largest is about the most bytes that Write allocates at a time.
func (w *V1Writer) Largest() (n int) {
	for _, p := range w.parts {
		n = max(n, graphdef.ProtoSize(p.values, false)+2*encodedSize(p.values)) // as a message and in the table's block
	}
	return n
}

// encodedSize bounds the encoded size of the values of a tensor.
func encodedSize(t *tensor.Tensor) (n int) {
	switch t.DType {
	case tensor.String:
		for _, s := range t.Strings {
			n += len(s) + binary.MaxVarintLen32 + 1
		}
		return n
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		return t.Len() * binary.MaxVarintLen64
	case tensor.Uint8, tensor.Uint16, tensor.Float16:
		return t.Len() * binary.MaxVarintLen16
	}
	return len(t.Bytes)
}

// Write durably replaces a file by one with everything that was added.
func (w *V1Writer) Write(fsys atomicfile.FS, path string) error {
	f, err := atomicfile.Create(fsys, path)
	if err != nil {
		return err
	}
	defer f.Discard()
	return firstError(func() error { return w.write(f) }, f.Sync, f.Commit, func() error { return atomicfile.SyncDir(fsys, filepath.Dir(path)) })
}

func (w *V1Writer) write(f *atomicfile.Pending) error {
	buf := bufio.NewWriterSize(f, writeBuffer)
	t := table.NewWriter(buf, tableOptions)
	put := func(key string, m *slicespb.SavedTensorSlices) error {
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			return err
		}
		return t.Append([]byte(key), value)
	}
	list := &slicespb.SavedTensorSliceMeta{Tensor: w.tensors, Versions: &versionspb.VersionDef{Producer: bundleVersion}}
	if err := put("", &slicespb.SavedTensorSlices{Meta: list}); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(w.parts)) {
		p := w.parts[key]
		values, err := graphdef.ToTensorProto(p.values, false)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", p.name, err)
		}
		values.Dtype, values.TensorShape = 0, nil // the list has them
		if err := put(key, &slicespb.SavedTensorSlices{Data: &slicespb.SavedSlice{Name: p.name, Slice: sliceToProto(p.slice), Data: values}}); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return buf.Flush()
}
