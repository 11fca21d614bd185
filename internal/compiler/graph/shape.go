package graph

import (
	"fmt"
	"strings"
)

// Dim is one dimension of a shape: PerBatch·B + Const, where B is the number of
// rows of the batch that a program runs. The zero PerBatch makes a fixed size.
type Dim struct{ PerBatch, Const int }

// Unknown is a dimension without any known size (-1 in a GraphDef).
var Unknown = Dim{Const: -1}

// Batch is the dimension that equals the batch size.
var Batch = Dim{PerBatch: 1}

// Fixed returns a dimension of constant size n.
func Fixed(n int) Dim { return Dim{Const: n} }

// At returns the size for a batch of b rows, -1 for Unknown.
func (d Dim) At(b int) int { return d.PerBatch*b + d.Const }

// Static reports whether the size does not depend on the batch and is known.
func (d Dim) Static() bool { return d.PerBatch == 0 && d.Const >= 0 }

// String returns "7", "B", "49B", "B+1" or "?".
func (d Dim) String() string {
	switch {
	case d == Unknown:
		return "?"
	case d.PerBatch == 0:
		return fmt.Sprint(d.Const)
	}
	s := "B"
	if d.PerBatch != 1 {
		s = fmt.Sprintf("%dB", d.PerBatch)
	}
	if d.Const != 0 {
		s += fmt.Sprintf("%+d", d.Const)
	}
	return s
}

// Shape is a partly known tensor shape. The zero Shape is a scalar.
type Shape struct {
	Dims        []Dim
	UnknownRank bool
}

// ShapeOf returns the fixed shape of the given sizes.
func ShapeOf(sizes ...int) Shape {
	s := Shape{Dims: make([]Dim, len(sizes))}
	for i, n := range sizes {
		s.Dims[i] = Fixed(n)
	}
	return s
}

// BatchOf returns the shape [B, sizes...].
func BatchOf(sizes ...int) Shape {
	return Shape{Dims: append([]Dim{Batch}, ShapeOf(sizes...).Dims...)}
}

// Rank returns the number of dimensions, -1 if unknown.
func (s Shape) Rank() int {
	if s.UnknownRank {
		return -1
	}
	return len(s.Dims)
}

// Known reports whether every dimension is known, given the batch size.
func (s Shape) Known() bool {
	if s.UnknownRank {
		return false
	}
	for _, d := range s.Dims {
		if d == Unknown {
			return false
		}
	}
	return true
}

// At returns the sizes for a batch of b rows.
func (s Shape) At(b int) []int {
	out := make([]int, len(s.Dims))
	for i, d := range s.Dims {
		out[i] = d.At(b)
	}
	return out
}

// ElementsAt returns the number of elements for a batch of b rows.
func (s Shape) ElementsAt(b int) int {
	n := 1
	for _, d := range s.Dims {
		n *= d.At(b)
	}
	return n
}

// Equal reports whether both shapes are the same, symbol for symbol.
func (s Shape) Equal(o Shape) bool {
	if s.UnknownRank != o.UnknownRank || len(s.Dims) != len(o.Dims) {
		return false
	}
	for i := range s.Dims {
		if s.Dims[i] != o.Dims[i] {
			return false
		}
	}
	return true
}

// String returns for example "[B,28,28,1]", "[]" or "<unknown rank>".
func (s Shape) String() string {
	if s.UnknownRank {
		return "<unknown rank>"
	}
	parts := make([]string, len(s.Dims))
	for i, d := range s.Dims {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ",") + "]"
}
