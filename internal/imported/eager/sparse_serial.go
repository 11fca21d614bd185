package eager

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"google.golang.org/protobuf/proto"
)

// serialOps pass sparse tensors through queues and datasets, as strings or as handles into a map.
var serialOps = map[*ops.Def]maker{
	ops.SerializeTensor: plain(serializeTensor), ops.ParseTensor: parseTensor,
	ops.SerializeSparse: plain(serializeSparse), ops.SerializeManySparse: plain(serializeMany),
	ops.DeserializeSparse: deserializeSparse(false), ops.DeserializeManySparse: deserializeSparse(true),
	ops.AddSparseToTensorsMap: keptSparse(addSparse), ops.AddManySparseToTensorsMap: keptSparse(addMany), ops.TakeManySparseFromTensorsMap: takeSparseMany,
}

// serialized returns a tensor as a TensorProto's bytes; the elements of string tensors are also in its content.
func serialized(t *tensor.Tensor) ([]byte, error) {
	p, err := graphdef.ToTensorProto(t, true)
	if err != nil {
		return nil, err
	}
	if t.DType == tensor.String {
		p.StringVal = nil
		for _, s := range t.Strings {
			p.TensorContent = binary.AppendUvarint(p.TensorContent, uint64(len(s)))
		}
		for _, s := range t.Strings {
			p.TensorContent = append(p.TensorContent, s...)
		}
	}
	return proto.Marshal(p)
}

// parsed reads the bytes of a TensorProto.
func (c call) parsed(b []byte) (*tensor.Tensor, error) {
	p := new(tensor_go_proto.TensorProto)
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("Could not parse serialized proto")
	}
	t, err := graphdef.FromTensorProto(p)
	if err != nil {
		return nil, err
	}
	if n := sizeOf(t); n > c.env.limit() {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrLimit, n, c.env.limit())
	}
	return t, c.pay(sizeOf(t))
}

func serializeTensor(c call) error {
	p, err := graphdef.ToTensorProto(c.t(0), true)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(p)
	if err != nil {
		return err
	}
	return c.stringsOutput(0, [][]byte{b})
}

func parseTensor(s *site) (kernel, error) {
	d := s.dtype("out_type", tensor.Invalid)
	return func(c call) error {
		if c.t(0).Len() != 1 {
			return fmt.Errorf("Expected `serialized` to be a scalar, got shape: %v", c.t(0).Shape)
		}
		b, err := text("serialized", reshaped(c.t(0)))
		if err != nil {
			return err
		}
		t, err := c.parsed(b)
		if err != nil {
			return err
		}
		if t.DType != d {
			return fmt.Errorf("Type mismatch between parsed tensor (%v) and dtype (%v)", t.DType, d)
		}
		c.set(0, t)
		return nil
	}, nil
}

// stringsOutput sets output i to strings, and pays for their bytes.
func (c call) stringsOutput(i int, all [][]byte, shape ...int) error {
	out, err := c.output(i, tensor.String, shape...)
	if err != nil {
		return err
	}
	n := 0
	for _, s := range all {
		n += len(s)
	}
	if err := c.room(n, 1); err != nil {
		return err
	}
	copy(out.Strings, all)
	return nil
}

// sparseInput reads a sparse tensor from three inputs; its errors have TensorFlow's texts.
func (c call) sparseInput() (coords, error) {
	indices, values, shape := c.t(0), c.t(1), c.t(2)
	switch {
	case len(indices.Shape) != 2:
		return coords{}, fmt.Errorf("Input indices should be a matrix but received shape %s", shapeText(indices.Shape))
	case len(values.Shape) != 1:
		return coords{}, fmt.Errorf("Input values should be a vector but received shape %s", shapeText(values.Shape))
	case len(shape.Shape) != 1:
		return coords{}, fmt.Errorf("Input shape should be a vector but received shape %s", shapeText(shape.Shape))
	}
	return coordsOf(indices, values, shape)
}

// triple is a sparse tensor as three tensors.
type triple [3]*tensor.Tensor

func (t triple) strings() ([][]byte, error) {
	out := make([][]byte, 3)
	for i, one := range t {
		b, err := serialized(one)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func serializeSparse(c call) error {
	if _, err := c.sparseInput(); err != nil {
		return err
	}
	all, err := triple{c.t(0), c.t(1), c.t(2)}.strings()
	if err != nil {
		return err
	}
	return c.stringsOutput(0, all, 3)
}

// perRow returns a sparse tensor for each row of the first dimension. Rows without entries share one.
func (c call) perRow() ([]triple, error) {
	s, err := c.sparseInput()
	if err != nil {
		return nil, err
	}
	if s.rank() < 2 {
		return nil, fmt.Errorf("Rank of input SparseTensor should be > 1, but saw rank: %d", s.rank())
	}
	n, values := s.shape[0], c.t(1)
	if err := c.room(n, int(unsafe.Sizeof(triple{}))+8); err != nil { // with the counts
		return nil, err
	}
	if err := c.pay(2*min(n, s.n)*rowCost + sizeOf(c.t(0)) + sizeOf(values)); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	counts := make([]int, n)
	for i := range s.n {
		counts[s.row(i)[0]]++
	}
	shape := tensor.New(tensor.Int64, s.rank()-1)
	copy(tensor.Values[int64](shape), tensor.Values[int64](c.t(2))[1:])
	none := triple{tensor.New(tensor.Int64, 0, s.rank()-1), tensor.New(values.DType, 0), shape}
	out := make([]triple, n)
	for i, k := range counts {
		if out[i] = none; k > 0 {
			out[i] = triple{tensor.New(tensor.Int64, k, s.rank()-1), tensor.New(values.DType, k), shape}
		}
	}
	clear(counts)
	for i := range s.n {
		b, rest := s.row(i)[0], s.row(i)[1:]
		copy(tensor.Values[int64](out[b][0])[counts[b]*len(rest):], rest)
		copyCells(out[b][1], counts[b], values, i, 1)
		counts[b]++
	}
	return out, nil
}

func serializeMany(c call) error {
	all, err := c.perRow()
	if err != nil {
		return err
	}
	// Rows with entries have their own strings and messages. Their strings have about as many bytes as the rows.
	if err := c.pay(3*len(all)*stringHeader + 3*min(len(all), c.t(0).Shape[0])*rowCost); err != nil {
		return err
	}
	var empty [][]byte
	out := make([][]byte, 0, 3*len(all))
	for _, t := range all {
		has := empty
		if has == nil || t[1].Len() > 0 {
			if has, err = t.strings(); err != nil {
				return err
			}
		}
		if t[1].Len() == 0 {
			empty = has
		}
		out = append(out, has...)
	}
	return c.stringsOutput(0, out, len(all), 3)
}

// deserializeSparse joins sparse tensors. All dimensions of the input except the last come first.
func deserializeSparse(many bool) maker {
	return func(s *site) (kernel, error) {
		d := s.dtype("dtype", tensor.Invalid)
		return func(c call) error {
			in := c.t(0)
			r := len(in.Shape)
			switch {
			case many && r != 2:
				return fmt.Errorf("Serialized sparse should be a matrix but received shape %s", shapeText(in.Shape))
			case r == 0:
				return fmt.Errorf("Serialized sparse should have non-zero rank but received shape %s", shapeText(in.Shape))
			case in.Shape[r-1] != 3:
				return fmt.Errorf("Serialized sparse should have 3 as the last dimension but received shape %s", shapeText(in.Shape))
			case in.DType != tensor.String:
				return fmt.Errorf("expected serialized tensors, got %v", in.DType)
			}
			all := make([]triple, len(in.Strings)/3)
			for i := range in.Strings {
				t, err := c.parsed(in.Strings[i])
				if err != nil {
					return err
				}
				all[i/3][i%3] = t
			}
			return c.joinSparse(all, in.Shape[:r-1], d)
		}, nil
	}
}

// joinSparse joins sparse tensors, which are the elements of a tensor of the outer shape, into one.
func (c call) joinSparse(all []triple, outer []int, d tensor.DType) error {
	if len(all) == 0 {
		return fmt.Errorf("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
	}
	var shape []int
	n, parts := 0, make([]coords, len(all))
	for i, t := range all {
		s, err := coordsOf(t[0], t[1], t[2])
		if err != nil {
			return fmt.Errorf("SparseTensor[%d]: %w", i, err)
		}
		if t[1].DType != d {
			return fmt.Errorf("Requested SparseTensor of type %s but SparseTensor[%d].values.dtype() == %s", typeText(d), i, typeText(t[1].DType))
		}
		if i > 0 && s.rank() != len(shape) {
			return fmt.Errorf("Inconsistent rank across SparseTensors: rank prior to SparseTensor[%d] was: %d but rank of SparseTensor[%d] is: %d", i, len(shape), i, s.rank())
		}
		if i == 0 {
			shape = slices.Clone(s.shape)
		}
		for k, d := range s.shape {
			shape[k] = max(shape[k], d)
		}
		parts[i] = s
		n += s.n
	}
	rank := len(outer) + len(shape)
	indices, err := outputOf[int64](c, 0, n, rank)
	if err != nil {
		return err
	}
	values, err := c.output(1, d, n)
	if err != nil {
		return err
	}
	at := 0
	for i, s := range parts {
		for k := range s.n {
			row := indices[at*rank : (at+1)*rank]
			for rest, o := i, len(outer)-1; o >= 0; o-- {
				row[o] = int64(rest % outer[o])
				rest /= outer[o]
			}
			copy(row[len(outer):], s.row(k))
			at++
		}
		copyCells(values, at-s.n, all[i][1], 0, s.n)
	}
	return c.outputInts(2, tensor.Int64, slices.Concat(outer, shape), rank)
}

// keptSparse returns the maker of a kernel that puts sparse tensors into a map.
func keptSparse(f func(k *queue.Kept, c call) error) maker {
	return func(s *site) (kernel, error) {
		at := s.namedSharing("map of sparse tensors")
		return func(c call) error {
			k, err := at.kept(c)
			if err != nil {
				return err
			}
			return f(k, c)
		}, nil
	}
}

// kept finds or makes a map of sparse tensors.
func (h sharing) kept(c call) (*queue.Kept, error) {
	found, err := h.find(c, func(name string, room *queue.Room) shared { return queue.NewKept(name, room) })
	if err != nil {
		return nil, err
	}
	return found.(*queue.Kept), nil
}

func addSparse(k *queue.Kept, c call) error {
	if _, err := c.sparseInput(); err != nil {
		return err
	}
	n, err := k.Put(queue.Element{c.t(0), c.t(1), c.t(2)})
	if err != nil {
		return err
	}
	return c.scalarInt(0, tensor.Int64, int(n))
}

func addMany(k *queue.Kept, c call) error {
	all, err := c.perRow()
	if err != nil {
		return err
	}
	handles, err := outputOf[int64](c, 0, len(all))
	if err != nil {
		return err
	}
	put := func(some bool) error { // TensorFlow's order: rows with entries come first
		for i, t := range all {
			if (t[1].Len() > 0) == some {
				if handles[i], err = k.Put(t[:]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := put(true); err != nil {
		return err
	}
	return put(false)
}

func takeSparseMany(s *site) (kernel, error) {
	d, at := s.dtype("dtype", tensor.Invalid), s.namedSharing("map of sparse tensors")
	return func(c call) error {
		handles := c.t(0)
		if len(handles.Shape) != 1 || handles.DType != tensor.Int64 {
			return fmt.Errorf("sparse_handles should be a vector but received shape %s", shapeText(handles.Shape))
		}
		k, err := at.kept(c)
		if err != nil {
			return err
		}
		elements, err := k.Take(tensor.Values[int64](handles))
		if err != nil {
			return err
		}
		all := make([]triple, len(elements))
		for i, e := range elements {
			all[i] = triple(e)
		}
		return c.joinSparse(all, handles.Shape, d)
	}, nil
}
