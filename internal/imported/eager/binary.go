package eager

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// binaryOps are elementwise ops on pairs, with broadcasting.
var binaryOps = binaryTable()

func binaryTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{
		ops.Equal:        equality(true),
		ops.NotEqual:     equality(false),
		ops.LogicalAnd:   plain((&typed{tensor.Bool: pairs(func(a, b bool) bool { return a && b })}).on(0)),
		ops.LogicalOr:    plain((&typed{tensor.Bool: pairs(func(a, b bool) bool { return a || b })}).on(0)),
		ops.Less:         plain(ordering(0)),
		ops.LessEqual:    plain(ordering(1)),
		ops.Greater:      plain(ordering(2)),
		ops.GreaterEqual: plain(ordering(3)),

		ops.ApproximateEqual: nearness,
	}
	for _, op := range []*ops.Def{ops.Add, ops.AddV2, ops.Sub, ops.Mul, ops.Maximum, ops.Minimum, ops.SquaredDifference, ops.Div, ops.FloorDiv, ops.TruncateDiv, ops.FloorMod, ops.Mod, ops.TruncateMod, ops.Pow} {
		all[op] = plain(arithmetic(op))
	}
	for _, op := range []*ops.Def{ops.RealDiv, ops.DivNoNan, ops.MulNoNan, ops.Xdivy, ops.Xlogy, ops.Xlog1py, ops.Atan2} {
		all[op] = plain(withComplex(floats(vectors[float32](op, floatPairs[float32](op)), vectors[float64](op, floatPairs[float64](op))), op).on(0))
	}
	for _, op := range []*ops.Def{ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.LeftShift, ops.RightShift} {
		all[op] = plain(bitwise(op))
	}
	return all
}

// arithmetic returns the kernel of an op on all numeric types; Add also joins strings.
func arithmetic(op *ops.Def) kernel {
	t := numbers(vectors[float32](op, numberPairs[float32](op)), vectors[float64](op, numberPairs[float64](op)), intPairs[int8](op), intPairs[int16](op), intPairs[int32](op),
		intPairs[int64](op), intPairs[uint8](op), intPairs[uint16](op), intPairs[uint32](op), intPairs[uint64](op))
	if op == ops.Add || op == ops.AddV2 {
		t[tensor.String] = stringPairs
	}
	return withComplex(t, op).on(0)
}

// numberPairs are ops whose float kernels only treat division specially.
func numberPairs[T float](op *ops.Def) kernel {
	switch op {
	case ops.FloorDiv:
		return called(func(a, b T) T { return T(math.Floor(float64(a / b))) })
	case ops.FloorMod:
		return called(func(a, b T) T {
			m := math.Mod(float64(a), float64(b))
			if m != 0 && (b < 0) != (m < 0) {
				m += float64(b)
			}
			return T(m)
		})
	case ops.Mod, ops.TruncateMod:
		return called(func(a, b T) T { return T(math.Mod(float64(a), float64(b))) })
	case ops.TruncateDiv:
		return called(func(a, b T) T { return T(math.Trunc(float64(a / b))) })
	case ops.Div:
		return pairs(func(a, b T) T { return a / b })
	case ops.Pow:
		return called(func(a, b T) T { return T(math.Pow(float64(a), float64(b))) })
	}
	return simplePairs[T](op)
}

// simplePairs are the same for floats and integers.
func simplePairs[T number](op *ops.Def) kernel {
	switch op {
	case ops.Add, ops.AddV2:
		return pairs(func(a, b T) T { return a + b })
	case ops.Sub:
		return pairs(func(a, b T) T { return a - b })
	case ops.Mul:
		return pairs(func(a, b T) T { return a * b })
	case ops.Maximum:
		return pairs(func(a, b T) T {
			if a < b || b != b {
				return b
			}
			return a
		})
	case ops.Minimum:
		return pairs(func(a, b T) T {
			if b < a || b != b {
				return b
			}
			return a
		})
	case ops.SquaredDifference:
		return pairs(func(a, b T) T { return (a - b) * (a - b) })
	}
	return nil
}

type integral interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// intPairs are the ops on integers; divisions first refuse zeros.
func intPairs[T integral](op *ops.Def) kernel {
	switch op {
	case ops.Div, ops.TruncateDiv:
		return divided[T](called(func(a, b T) T { return a / b }))
	case ops.Mod, ops.TruncateMod:
		return divided[T](called(func(a, b T) T { return a % b }))
	case ops.FloorDiv:
		return divided[T](called(func(a, b T) T {
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return q
		}))
	case ops.FloorMod:
		return divided[T](called(func(a, b T) T {
			m := a % b
			if m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m
		}))
	case ops.Pow:
		return intPowers[T]()
	}
	return simplePairs[T](op)
}

// divided refuses zero divisors.
func divided[T integral](k kernel) kernel {
	return func(c call) error {
		if slices.Contains(tensor.Values[T](c.t(1)), 0) && c.t(0).Len() > 0 {
			return errors.New("Integer division by zero")
		}
		return k(c)
	}
}

func intPowers[T integral]() kernel {
	power := called(func(a, b T) T {
		r := T(1)
		for ; b > 0; b >>= 1 {
			if b&1 != 0 {
				r *= a
			}
			a *= a
		}
		return r
	})
	return func(c call) error {
		for _, e := range tensor.Values[T](c.t(1)) {
			if e < 0 {
				return errors.New("Integers to negative integer powers are not allowed")
			}
		}
		return power(c)
	}
}

// floatPairs are the ops on floats only.
func floatPairs[T float](op *ops.Def) kernel {
	zero := func(f func(a, b float64) float64, at int) kernel { // 0 where operand `at` is 0
		return called(func(a, b T) T {
			if [2]T{a, b}[at] == 0 {
				return 0
			}
			return T(f(float64(a), float64(b)))
		})
	}
	switch op {
	case ops.RealDiv:
		return pairs(func(a, b T) T { return a / b })
	case ops.DivNoNan:
		return zero(func(a, b float64) float64 { return a / b }, 1)
	case ops.MulNoNan:
		return zero(func(a, b float64) float64 { return a * b }, 1)
	case ops.Xdivy:
		return zero(func(a, b float64) float64 { return a / b }, 0)
	case ops.Xlogy:
		return zero(func(a, b float64) float64 { return a * math.Log(b) }, 0)
	case ops.Xlog1py:
		return zero(func(a, b float64) float64 { return a * math.Log1p(b) }, 0)
	}
	return called(func(a, b T) T { return T(math.Atan2(float64(a), float64(b))) })
}

func bitwise(op *ops.Def) kernel {
	t := numbers(nil, nil, bits2[int8](op, 8), bits2[int16](op, 16), bits2[int32](op, 32), bits2[int64](op, 64), bits2[uint8](op, 8), bits2[uint16](op, 16), bits2[uint32](op, 32), bits2[uint64](op, 64))
	return t.on(0)
}

func bits2[T integral](op *ops.Def, size T) kernel {
	switch op {
	case ops.BitwiseAnd:
		return pairs(func(a, b T) T { return a & b })
	case ops.BitwiseOr:
		return pairs(func(a, b T) T { return a | b })
	case ops.BitwiseXor:
		return pairs(func(a, b T) T { return a ^ b })
	case ops.LeftShift:
		return pairs(func(a, b T) T { return a << min(max(b, 0), size-1) })
	}
	return pairs(func(a, b T) T { return a >> min(max(b, 0), size-1) })
}

// ordering returns a comparison: <, <=, > or >=.
func ordering(which int) kernel {
	return numbers(ordered[float32](which), ordered[float64](which), ordered[int8](which), ordered[int16](which), ordered[int32](which),
		ordered[int64](which), ordered[uint8](which), ordered[uint16](which), ordered[uint32](which), ordered[uint64](which)).on(0)
}

func ordered[T number](which int) kernel {
	return [...]kernel{
		pairs(func(a, b T) bool { return a < b }), pairs(func(a, b T) bool { return a <= b }),
		pairs(func(a, b T) bool { return a > b }), pairs(func(a, b T) bool { return a >= b }),
	}[which]
}

// nearness reports whether two elements differ by at most a tolerance, which has their type.
func nearness(s *site) (kernel, error) {
	tolerance, ok := s.node.Attrs["tolerance"].(float32)
	if !ok {
		tolerance = 1e-5
	}
	k := numbers(atMost[float32](tolerance), atMost[float64](tolerance), atMost[int8](tolerance), atMost[int16](tolerance), atMost[int32](tolerance),
		atMost[int64](tolerance), atMost[uint8](tolerance), atMost[uint16](tolerance), atMost[uint32](tolerance), atMost[uint64](tolerance)).on(0)
	return func(c call) error {
		if a, b := c.t(0).Shape, c.t(1).Shape; !slices.Equal(a, b) {
			return fmt.Errorf("x and y must be of the same shape. x shape: %v. y shape: %v", a, b)
		}
		return k(c)
	}, nil
}

func atMost[T number](tolerance float32) kernel {
	return called(func(a, b T) bool {
		d := a - b
		if d < 0 {
			d = -d
		}
		return d <= T(tolerance)
	})
}

// equality returns Equal or NotEqual; without incompatible_shape_error, shapes
// that do not broadcast are unequal.
func equality(equal bool) maker {
	t := numbers(same[float32](equal), same[float64](equal), same[int8](equal), same[int16](equal), same[int32](equal),
		same[int64](equal), same[uint8](equal), same[uint16](equal), same[uint32](equal), same[uint64](equal))
	t[tensor.Bool] = same[bool](equal)
	t.complexes(same[complex64](equal), same[complex128](equal))
	t[tensor.String] = pairsOf(func(t *tensor.Tensor) [][]byte { return t.Strings }, outputOf[bool],
		func(a, b []byte) bool { return bytes.Equal(a, b) == equal })
	return func(s *site) (kernel, error) {
		k := t.on(0)
		if s.boolean("incompatible_shape_error", true) {
			return k, nil
		}
		return func(c call) error {
			if _, err := broadcastShape(c.t(0).Shape, c.t(1).Shape); err != nil {
				c.set(0, tensor.Scalar(!equal))
				return nil
			}
			return k(c)
		}, nil
	}
}

func same[T tensor.Element](equal bool) kernel {
	return pairs(func(a, b T) bool { return (a == b) == equal })
}

// stringPairs joins strings.
func stringPairs(c call) error {
	room := c.textRoom()
	var full error
	k := pairsOf(func(t *tensor.Tensor) [][]byte { return t.Strings },
		func(c call, i int, shape ...int) ([][]byte, error) {
			t, err := c.output(i, tensor.String, shape...)
			if err != nil {
				return nil, err
			}
			return t.Strings, nil
		},
		func(a, b []byte) []byte {
			if full == nil {
				full = room.take(len(a) + len(b))
			}
			if full != nil {
				return nil
			}
			return append(a[:len(a):len(a)], b...)
		})
	if err := k(c); err != nil {
		return err
	}
	return full
}
