package bundle

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typespb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	versionspb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	bundlepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// bundleVersion is the format version that is written, and the newest that is read.
const bundleVersion = 1

// entry is one checked entry of the index.
type entry struct {
	key    string
	dtype  tensor.DType
	shape  []int
	shard  int
	offset int64
	size   int64
	crc    uint32
	slices []Slice
}

func (e *entry) toProto() *bundlepb.BundleEntryProto {
	p := &bundlepb.BundleEntryProto{
		Dtype: typeOf(e.dtype), Shape: shapeOf(e.shape),
		ShardId: int32(e.shard), Offset: e.offset, Size: e.size, Crc32C: e.crc,
	}
	for _, s := range e.slices {
		p.Slices = append(p.Slices, sliceToProto(s))
	}
	return p
}

// parseEntry decodes an entry, and checks what can be checked without the data files.
func parseEntry(key string, value []byte, shards int) (*entry, error) {
	var p bundlepb.BundleEntryProto
	if err := proto.Unmarshal(value, &p); err != nil {
		return nil, fmt.Errorf("bad entry: %v", err)
	}
	e := &entry{
		key: key, dtype: tensor.DType(p.Dtype), shard: int(p.ShardId),
		offset: p.Offset, size: p.Size, crc: p.Crc32C,
	}
	var err error
	if e.shape, err = dimensions(p.Shape); err != nil {
		return nil, err
	}
	n := int64(tensor.NumElements(e.shape))
	if e.shard < 0 || e.shard >= shards {
		return nil, fmt.Errorf("shard %d of %d", e.shard, shards)
	}
	if e.offset < 0 || e.size < 0 || e.size > math.MaxInt64-e.offset {
		return nil, fmt.Errorf("offset %d, size %d", e.offset, e.size)
	}
	for _, s := range p.Slices {
		e.slices = append(e.slices, sliceFromProto(s))
	}
	if w := int64(e.dtype.Size()); w > 0 && len(e.slices) == 0 && e.size != n*w {
		return nil, fmt.Errorf("%d bytes for %s%v, expected %d", e.size, e.dtype, e.shape, n*w)
	}
	return e, nil
}

// typeOf returns an element type as stored in files.
func typeOf(d tensor.DType) typespb.DataType { return typespb.DataType(d) }

// shapeOf returns a shape as stored in files.
func shapeOf(shape []int) *shapepb.TensorShapeProto {
	p := &shapepb.TensorShapeProto{}
	for _, d := range shape {
		p.Dim = append(p.Dim, &shapepb.TensorShapeProto_Dim{Size: int64(d)})
	}
	return p
}

// dimensions returns the shape of a tensor. Its number of elements must fit in an int.
func dimensions(p *shapepb.TensorShapeProto) ([]int, error) {
	if p.GetUnknownRank() {
		return nil, fmt.Errorf("the shape's rank is unknown")
	}
	shape, n := []int{}, int64(1)
	for _, d := range p.GetDim() {
		if d.Size < 0 || (d.Size > 0 && n > math.MaxInt64/8/d.Size) {
			return nil, fmt.Errorf("dimension %d of the shape is out of range", d.Size)
		}
		n *= d.Size
		shape = append(shape, int(d.Size))
	}
	return shape, nil
}

func header(shards int) *bundlepb.BundleHeaderProto {
	return &bundlepb.BundleHeaderProto{
		NumShards: int32(shards),
		Version:   &versionspb.VersionDef{Producer: bundleVersion},
	}
}

// parseHeader returns the number of shards.
func parseHeader(value []byte) (int, error) {
	var p bundlepb.BundleHeaderProto
	if err := proto.Unmarshal(value, &p); err != nil {
		return 0, fmt.Errorf("bad header: %v", err)
	}
	if p.Endianness != bundlepb.BundleHeaderProto_LITTLE {
		return 0, fmt.Errorf("the tensors are big-endian: only little-endian files can be read")
	}
	if m := p.GetVersion().GetMinConsumer(); m > bundleVersion {
		return 0, fmt.Errorf("format version %d is newer than %d, the newest known here", m, bundleVersion)
	}
	if p.NumShards < 1 {
		return 0, fmt.Errorf("%d data files", p.NumShards)
	}
	return int(p.NumShards), nil
}
