package bundle

import (
	"fmt"

	slicepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_slice_go_proto"

	"github.com/goestimator/goestimator/tensor"
)

// Extent is the part of one dimension that a slice covers. Start 0 with Length
// -1 means the whole dimension.
type Extent struct{ Start, Length int }

// Slice is a part of a tensor, one Extent for each dimension.
type Slice []Extent

// maxSlices bounds the pairwise overlap check.
const maxSlices = 4096

// shapeIn returns the slice's own shape inside a tensor of shape full.
func (s Slice) shapeIn(full []int) ([]int, error) {
	if len(s) != len(full) {
		return nil, fmt.Errorf("slice of rank %d in a tensor of rank %d", len(s), len(full))
	}
	shape := make([]int, len(s))
	for d, e := range s {
		if e.Length == -1 && e.Start == 0 {
			shape[d] = full[d]
			continue
		}
		if e.Start < 0 || e.Length < 0 || e.Start > full[d] || e.Length > full[d]-e.Start {
			return nil, fmt.Errorf("dimension %d: start %d, length %d is outside of %d", d, e.Start, e.Length, full[d])
		}
		shape[d] = e.Length
	}
	return shape, nil
}

func (s Slice) overlaps(o Slice, full []int) bool {
	for d := range s {
		a, b := s[d], o[d]
		if a.Length == -1 {
			a.Length = full[d]
		}
		if b.Length == -1 {
			b.Length = full[d]
		}
		if a.Start+a.Length <= b.Start || b.Start+b.Length <= a.Start {
			return false
		}
	}
	return true
}

// checkCover reports whether the slices cover a tensor of shape full exactly once.
func checkCover(parts []Slice, full []int) error {
	if len(parts) > maxSlices {
		return fmt.Errorf("%d slices: at most %d are supported", len(parts), maxSlices)
	}
	covered := 0
	for i, s := range parts {
		shape, err := s.shapeIn(full)
		if err != nil {
			return err
		}
		for _, o := range parts[:i] {
			if s.overlaps(o, full) {
				return fmt.Errorf("slices %v and %v overlap", o, s)
			}
		}
		covered += tensor.NumElements(shape)
	}
	if n := tensor.NumElements(full); covered != n {
		return fmt.Errorf("the slices cover %d of %d elements", covered, n)
	}
	return nil
}

func sliceToProto(s Slice) *slicepb.TensorSliceProto {
	p := &slicepb.TensorSliceProto{}
	for _, e := range s {
		x := &slicepb.TensorSliceProto_Extent{}
		if e.Length != -1 {
			x.Start = int64(e.Start)
			x.HasLength = &slicepb.TensorSliceProto_Extent_Length{Length: int64(e.Length)}
		}
		p.Extent = append(p.Extent, x)
	}
	return p
}

func sliceFromProto(p *slicepb.TensorSliceProto) Slice {
	s := make(Slice, len(p.GetExtent()))
	for d, e := range p.GetExtent() {
		s[d] = Extent{Start: int(e.GetStart()), Length: -1}
		if _, ok := e.GetHasLength().(*slicepb.TensorSliceProto_Extent_Length); ok {
			s[d].Length = int(e.GetLength())
		}
	}
	return s
}

// paste copies part to its place s in full. Both have been checked.
func paste(full, part *tensor.Tensor, s Slice) {
	rank := len(part.Shape)
	if part.Len() == 0 {
		return
	}
	run, size := 1, full.DType.Size()
	if rank > 0 {
		run = part.Shape[rank-1]
	}
	at := make([]int, rank) // position of the current run in part
	for src := 0; src < part.Len(); src += run {
		dst := 0
		for d := range rank {
			dst = dst*full.Shape[d] + s[d].Start + at[d]
		}
		if full.DType == tensor.String {
			copy(full.Strings[dst:dst+run], part.Strings[src:src+run])
		} else {
			copy(full.Bytes[dst*size:(dst+run)*size], part.Bytes[src*size:])
		}
		for d := rank - 2; d >= 0; d-- {
			if at[d]++; at[d] < part.Shape[d] {
				break
			}
			at[d] = 0
		}
	}
}
