package collective

import "sort"

// vector presents several pieces of memory as one: the tensors of a pack.
type vector struct {
	pieces [][]byte
	ends   []int // ends[i] is the end of pieces[i] in the vector
}

// set makes the vector consist of the pieces.
func (v *vector) set(pieces ...[]byte) {
	v.pieces, v.ends = v.pieces[:0], v.ends[:0]
	for _, p := range pieces {
		v.add(p)
	}
}

func (v *vector) add(piece []byte) {
	v.pieces = append(v.pieces, piece)
	v.ends = append(v.ends, v.len()+len(piece))
}

// len is the number of bytes.
func (v *vector) len() int {
	if len(v.ends) == 0 {
		return 0
	}
	return v.ends[len(v.ends)-1]
}

// view appends to dst the memory of the bytes [lo, hi), in order, without empty parts.
func (v *vector) view(dst [][]byte, lo, hi int) [][]byte {
	for i := sort.SearchInts(v.ends, lo+1); i < len(v.pieces) && lo < hi; i++ {
		start := v.ends[i] - len(v.pieces[i])
		end := min(hi, v.ends[i])
		if end > lo {
			dst = append(dst, v.pieces[i][lo-start:end-start])
			lo = end
		}
	}
	return dst
}
