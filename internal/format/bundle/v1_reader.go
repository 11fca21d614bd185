package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"

	slicespb "github.com/wamuir/graft/tensorflow/core/util/saved_tensor_slice_proto_go_proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/protocost"
	"github.com/goestimator/goestimator/tensor"
)

// V1 reads a checkpoint of TensorFlow's first format: files that are tables
// (core/util/saved_tensor_slice.proto). The entry with the empty key lists the
// slices of the file; each other entry has one slice.
type V1 struct {
	files   []*v1File
	tensors map[string]*v1Tensor
}

// v1File is a table. It keeps the last block read, since small tensors share blocks.
type v1File struct {
	indexTable
	atomicfile.File
	blocks []lastKey
	at     int // index of the block of pairs; -1: none
	pairs  []pair
}

// v1Tensor is a tensor and the places of its slices.
type v1Tensor struct {
	dtype  tensor.DType
	shape  []int
	slices []Slice
	files  []*v1File
}

// OpenV1 opens the files of a checkpoint. pay is called before memory is allocated, with the number of bytes. The error wraps
// fs.ErrNotExist if a file is missing, or is a *CorruptError. Call Close at the end.
func OpenV1(fsys atomicfile.FS, paths []string, pay func(n int) error) (*V1, error) {
	v := &V1{tensors: map[string]*v1Tensor{}}
	for _, path := range paths {
		if err := v.open(fsys, path, pay); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	return v, nil
}

func (v *V1) open(fsys atomicfile.FS, path string, pay func(n int) error) error {
	file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	f := &v1File{indexTable: indexTable{path: path, file: file, pay: pay}, File: file, at: -1}
	v.files = append(v.files, f)
	if f.indexTable.size, err = file.Size(); err != nil {
		return err
	}
	if f.blocks, err = f.indexTable.blocks(); err != nil {
		return err
	}
	list, err := f.message("")
	if err != nil {
		return err
	}
	if m := list.GetMeta().GetVersions().GetMinConsumer(); m > bundleVersion {
		return f.corrupt(0, "format version %d is newer than %d, the newest known here", m, bundleVersion)
	}
	for _, meta := range list.GetMeta().GetTensor() {
		if err := v.list(f, meta); err != nil {
			return &CorruptError{Path: path, Key: meta.GetName(), Reason: err.Error()}
		}
	}
	return nil
}

// list adds the slices of a tensor that a file has.
func (v *V1) list(f *v1File, meta *slicespb.SavedSliceMeta) error {
	shape, err := dimensions(meta.GetShape())
	if err != nil {
		return err
	}
	t, dtype := v.tensors[meta.GetName()], tensor.DType(meta.GetType())
	if t == nil {
		t = &v1Tensor{dtype: dtype, shape: shape}
		v.tensors[meta.GetName()] = t
	}
	if t.dtype != dtype || !slices.Equal(t.shape, shape) {
		return fmt.Errorf("slice of %s%v, the others are of %s%v", dtype, shape, t.dtype, t.shape)
	}
	for _, p := range meta.GetSlice() {
		t.slices, t.files = append(t.slices, sliceFromProto(p)), append(t.files, f)
	}
	return nil
}

// find returns the value of a key, nil if there is none.
func (f *v1File) find(key string) ([]byte, error) {
	i := sort.Search(len(f.blocks), func(i int) bool { return bytes.Compare(f.blocks[i].key, []byte(key)) >= 0 })
	if i == len(f.blocks) {
		return nil, nil
	}
	if i != f.at {
		f.quota = expandMaxRate * int(f.indexTable.size)
		pairs, err := f.entries(f.blocks[i].blockHandle, nil)
		if err != nil {
			return nil, err
		}
		f.at, f.pairs = i, pairs
	}
	k, found := slices.BinarySearchFunc(f.pairs, key, func(p pair, key string) int { return bytes.Compare(p.key, []byte(key)) })
	if !found {
		return nil, nil
	}
	return f.pairs[k].value, nil
}

// message reads the entry of a key.
func (f *v1File) message(key string) (*slicespb.SavedTensorSlices, error) {
	value, err := f.find(key)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, f.corrupt(0, "the entry with the key %q is missing", key)
	}
	m := &slicespb.SavedTensorSlices{}
	if err := f.paid(protocost.Of(mem.BufferSlice{mem.SliceBuffer(value)}, m, 0)); err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, f.corrupt(0, "the entry with the key %q: %v", key, err)
	}
	return m, nil
}

// Tensor reads one tensor, from all of its slices. The error wraps ErrNotFound or ErrUnsupported, or is a *CorruptError.
func (v *V1) Tensor(name string) (*tensor.Tensor, error) {
	t := v.tensors[name]
	if t == nil {
		return nil, fmt.Errorf("tensor %q: %w", name, ErrNotFound)
	}
	if t.dtype != tensor.String && t.dtype.Size() == 0 {
		return nil, fmt.Errorf("tensor %q: %w: %s", name, ErrUnsupported, t.dtype)
	}
	if len(t.slices) == 0 {
		return nil, &CorruptError{Key: name, Reason: "it has no slices"}
	}
	if err := checkCover(t.slices, t.shape); err != nil {
		return nil, &CorruptError{Path: t.files[0].path, Key: name, Reason: err.Error()}
	}
	parts := make([]*tensor.Tensor, len(t.slices))
	for i := range parts {
		var err error
		if parts[i], err = t.part(name, i); err != nil {
			return nil, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	// The parts have been read and cover the tensor: it is no larger than they are.
	if err := t.files[0].paid(tensor.NumElements(t.shape) * elementSize(t.dtype)); err != nil {
		return nil, err
	}
	full := tensor.New(t.dtype, t.shape...)
	for i, p := range parts {
		paste(full, p, t.slices[i])
	}
	return full, nil
}

// elementSize is what an element of a tensor takes, for a string without its bytes.
func elementSize(d tensor.DType) int {
	if d == tensor.String {
		return stringHeader
	}
	return d.Size()
}

// stringHeader is the size of a string in a tensor besides its bytes.
const stringHeader = 24

// part reads slice i.
func (t *v1Tensor) part(name string, i int) (*tensor.Tensor, error) {
	f, s := t.files[i], t.slices[i]
	m, err := f.message(sliceKey(name, s))
	if err != nil {
		return nil, err
	}
	bad := func(err error) (*tensor.Tensor, error) {
		return nil, &CorruptError{Path: f.path, Key: name, Reason: fmt.Sprintf("slice %v: %v", s, err)}
	}
	shape, err := s.shapeIn(t.shape)
	if err != nil {
		return bad(err)
	}
	p := m.GetData().GetData()
	if p == nil {
		return bad(errors.New("it has no data"))
	}
	p.Dtype, p.TensorShape = typeOf(t.dtype), shapeOf(shape)
	if have, n := graphdef.NumValues(p), tensor.NumElements(shape); have != n {
		return bad(fmt.Errorf("%d values, expected %d", have, n))
	}
	// Numbers, and short strings, may be smaller as a message.
	if err := f.paid(max(proto.Size(p), tensor.NumElements(shape)*t.dtype.Size()) + stringHeader*len(p.GetStringVal())); err != nil {
		return nil, err
	}
	part, err := graphdef.FromTensorProto(p)
	if err != nil {
		return bad(err)
	}
	return part, nil
}

// Close closes the files.
func (v *V1) Close() error {
	var errs []error
	for _, f := range v.files {
		errs = append(errs, f.Close())
	}
	v.files = nil
	return errors.Join(errs...)
}

// List describes the tensors, sorted by name, without their places and slices.
func (v *V1) List() []Info {
	var list []Info
	for _, name := range slices.Sorted(maps.Keys(v.tensors)) {
		t := v.tensors[name]
		list = append(list, Info{Name: name, DType: t.dtype, Shape: slices.Clone(t.shape)})
	}
	return list
}
