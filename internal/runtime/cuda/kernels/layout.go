package kernels

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Move copies elements between tensors. For every coordinate in Sizes, it copies the element of Src at From plus the coordinate
// times FromSteps to Dst at To plus the coordinate times ToSteps. Offsets and steps count elements of Size bytes (1, 2, 4 or
// 8). Both tensors may be in the same memory.
type Move struct {
	Dst, Src           driver.Ptr
	Size               int
	Sizes              []int
	To, From           int
	ToSteps, FromSteps []int
}

// rank is the most dimensions of a Move, after merging neighbours that a single step covers.
const rank = 6

// widest is the most bytes that a thread moves at once.
const widest = 16

// Call returns the launch. It fails if more than 6 dimensions remain.
func (m Move) Call() (Call, error) {
	w := m.merged()
	if batch, rows, cols, ok := w.matrices(); ok {
		return Transpose(w.Dst+driver.Ptr(w.To*w.Size), w.Src+driver.Ptr(w.From*w.Size), w.Size, batch, rows, cols), nil
	}
	w = w.widened()
	if len(w.Sizes) > rank {
		return Call{}, fmt.Errorf("a move over %v, with steps %v to %v: expected at most %d dimensions", m.Sizes, m.FromSteps, m.ToSteps, rank)
	}
	n := 1
	for _, d := range w.Sizes {
		n *= d
	}
	first := rank - len(w.Sizes)
	args := []any{w.Dst, w.Src, n, w.To, w.From, int32(first)}
	for _, list := range [][]int{w.Sizes, w.ToSteps, w.FromSteps} {
		for k := range rank {
			v := 1
			if k >= first {
				v = list[k-first]
			}
			args = append(args, v)
		}
	}
	grid, block := over(n)
	return call(fmt.Sprintf("strided_%d", w.Size), grid, block, args...), nil
}

// matrices reports whether the move transposes dense matrices that are large enough for tiles.
func (m Move) matrices() (batch, rows, cols int, ok bool) {
	k := len(m.Sizes) - 2
	if k < 0 || k > 1 {
		return 0, 0, 0, false
	}
	batch, cols, rows = 1, m.Sizes[k], m.Sizes[k+1]
	if k == 1 {
		batch = m.Sizes[0]
		ok = m.ToSteps[0] == rows*cols && m.FromSteps[0] == rows*cols
	}
	ok = (k == 0 || ok) && m.ToSteps[k] == rows && m.ToSteps[k+1] == 1 && m.FromSteps[k] == 1 && m.FromSteps[k+1] == cols
	return batch, rows, cols, ok && min(rows, cols) >= 8
}

// merged drops dimensions of one element and joins dimensions that a single step covers on both sides.
func (m Move) merged() Move {
	w := m
	w.Sizes, w.ToSteps, w.FromSteps = nil, nil, nil
	for i, n := range m.Sizes {
		if n == 1 {
			continue
		}
		to, from := m.ToSteps[i], m.FromSteps[i]
		if k := len(w.Sizes) - 1; k >= 0 && w.ToSteps[k] == to*n && w.FromSteps[k] == from*n {
			w.Sizes[k], w.ToSteps[k], w.FromSteps[k] = w.Sizes[k]*n, to, from
			continue
		}
		w.Sizes, w.ToSteps, w.FromSteps = append(w.Sizes, n), append(w.ToSteps, to), append(w.FromSteps, from)
	}
	return w
}

// widened makes elements as wide as is contiguous and aligned on both sides.
func (m Move) widened() Move {
	last := len(m.Sizes) - 1
	if last < 0 || m.ToSteps[last] != 1 || m.FromSteps[last] != 1 {
		return m
	}
	by := widest / m.Size
	fits := func() bool {
		if m.Sizes[last]%by != 0 || m.To%by != 0 || m.From%by != 0 || int(m.Dst|m.Src)%(by*m.Size) != 0 {
			return false
		}
		for k := range last {
			if m.ToSteps[k]%by != 0 || m.FromSteps[k]%by != 0 {
				return false
			}
		}
		return true
	}
	for by > 1 && !fits() {
		by /= 2
	}
	w := Move{Dst: m.Dst, Src: m.Src, Size: m.Size * by, To: m.To / by, From: m.From / by}
	for k := range m.Sizes {
		size, to, from := m.Sizes[k], m.ToSteps[k]/by, m.FromSteps[k]/by
		if k == last {
			size, to, from = size/by, 1, 1
		}
		w.Sizes, w.ToSteps, w.FromSteps = append(w.Sizes, size), append(w.ToSteps, to), append(w.FromSteps, from)
	}
	return w
}

// Transpose transposes batch matrices [rows, cols] of elements of size bytes (1, 2, 4 or 8) to [cols, rows].
func Transpose(dst, src driver.Ptr, size, batch, rows, cols int) Call {
	tiles := batch * ceilDiv(rows, 32) * ceilDiv(cols, 32)
	grid := driver.Dim{X: max(1, min(tiles, driver.MaxGridX))}
	return call(fmt.Sprintf("transpose_%d", size), grid, driver.Dim{X: 32, Y: 8}, dst, src, batch, rows, cols)
}

// Fill sets n elements of size bytes (1, 2, 4 or 8) to the element at value.
func Fill(dst, value driver.Ptr, size, n int) Call {
	grid, block := over(n)
	return call(fmt.Sprintf("fill_%d", size), grid, block, dst, value, n)
}

// layoutKernels describes src/layout.cu.
func layoutKernels() (all []Kernel) {
	for _, size := range []int{1, 2, 4, 8, 16} {
		all = append(all, Kernel{fmt.Sprintf("strided_%d", size), "ppllli" + strings.Repeat("l", 3*rank)})
		if size < 16 {
			all = append(all, Kernel{fmt.Sprintf("transpose_%d", size), "pplll"}, Kernel{fmt.Sprintf("fill_%d", size), "ppl"})
		}
	}
	return all
}
