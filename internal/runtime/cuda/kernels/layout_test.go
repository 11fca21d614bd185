package kernels_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"pgregory.net/rapid"
)

// moved is what a Move of float32 does, on slices.
func moved(m kernels.Move, dst, src []float32) {
	at := make([]int, len(m.Sizes))
	for {
		to, from := m.To, m.From
		for k, i := range at {
			to, from = to+i*m.ToSteps[k], from+i*m.FromSteps[k]
		}
		dst[to] = src[from]
		k := len(at) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < m.Sizes[k] {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

func TestMoves(t *testing.T) {
	r := newRig(t, "layout")
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5), 0, 6).Draw(t, "sizes")
		m := kernels.Move{Size: 4, Sizes: sizes, ToSteps: make([]int, len(sizes)), FromSteps: make([]int, len(sizes))}
		m.To = rapid.IntRange(0, 4).Draw(t, "to")
		n := 1 // a dense destination, its dimensions in any order
		for _, k := range rapid.Permutation(indices(len(sizes))).Draw(t, "order") {
			m.ToSteps[k] = n
			n *= sizes[k]
		}
		low, high := 0, 0
		for k, size := range sizes {
			m.FromSteps[k] = rapid.IntRange(-9, 9).Draw(t, "step")
			low, high = low+min(0, m.FromSteps[k]*(size-1)), high+max(0, m.FromSteps[k]*(size-1))
		}
		m.From = -low
		src, want := numbers(1, high-low+1), make([]float32, m.To+n)
		moved(m, want, src)
		m.Dst, m.Src = up(r, make([]float32, len(want))), up(r, src)
		c, err := m.Call()
		if err != nil {
			t.Fatal(err)
		}
		r.run(c)
		if got := down[float32](r, m.Dst, len(want)); !slices.Equal(got, want) {
			t.Fatalf("%+v: expected %v, got %v", m, want, got)
		}
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestMovesAreWidened: only contiguous elements are moved in larger pieces.
func TestMovesAreWidened(t *testing.T) {
	m := kernels.Move{Dst: 256, Src: 512, Size: 2, Sizes: []int{3, 1, 8}, ToSteps: []int{8, 7, 1}, FromSteps: []int{16, 7, 1}, From: 8}
	for _, c := range []struct {
		change func(*kernels.Move)
		kernel string
	}{
		{func(*kernels.Move) {}, "strided_16"},
		{func(m *kernels.Move) { m.From = 4 }, "strided_8"},
		{func(m *kernels.Move) { m.Src += 4 }, "strided_4"},
		{func(m *kernels.Move) { m.FromSteps[0] = 17 }, "strided_2"},
		{func(m *kernels.Move) { m.Sizes[2] = 7 }, "strided_2"},
		{func(m *kernels.Move) { m.FromSteps[2] = 2 }, "strided_2"},
	} {
		k := m
		k.Sizes, k.FromSteps = slices.Clone(m.Sizes), slices.Clone(m.FromSteps)
		c.change(&k)
		if got, err := k.Call(); err != nil || got.Kernel != c.kernel {
			t.Errorf("%+v: expected %s, got %s, %v", k, c.kernel, got.Kernel, err)
		}
	}
	turned := kernels.Move{Size: 4, Sizes: []int{5, 1, 8, 9}, ToSteps: []int{72, 1, 9, 1}, FromSteps: []int{72, 1, 1, 8}}
	if c, err := turned.Call(); err != nil || c.Kernel != "transpose_4" {
		t.Errorf("matrices are transposed by tiles: got %s, %v", c.Kernel, err)
	}
	if _, err := (kernels.Move{Size: 4, Sizes: []int{2, 2, 2, 2, 2, 2, 2}, ToSteps: []int{1, 2, 4, 8, 16, 32, 64}, FromSteps: make([]int, 7)}).Call(); err == nil {
		t.Error("7 dimensions that cannot be merged: expected an error")
	}
}

func TestTranspose(t *testing.T) {
	r := newRig(t, "layout")
	for _, c := range []struct{ batch, rows, cols int }{{1, 1, 1}, {1, 33, 31}, {3, 5, 64}, {2, 64, 32}, {1, 100, 1}} {
		src := numbers(1, c.batch*c.rows*c.cols)
		want := make([]float32, len(src))
		for i, v := range src {
			b, k := i/(c.rows*c.cols), i%(c.rows*c.cols)
			want[b*c.rows*c.cols+k%c.cols*c.rows+k/c.cols] = v
		}
		dst := r.alloc(4 * len(src))
		r.run(kernels.Transpose(dst, up(r, src), 4, c.batch, c.rows, c.cols))
		near(t, "transpose", want, down[float32](r, dst, len(src)), 0)
	}
}

func TestFill(t *testing.T) {
	r := newRig(t, "layout")
	dst := r.alloc(2 * 1000)
	r.run(kernels.Fill(dst, up(r, []uint16{7}), 2, 1000))
	for i, v := range down[uint16](r, dst, 1000) {
		if v != 7 {
			t.Fatalf("element %d: expected 7, got %d", i, v)
		}
	}
}
