//go:build amd64 && !noasm

package kernels

// Each simd function reports whether it has done the work.

func simdUnary[T Float](UnaryOp, []T, []T) bool { return false }

func simdBinary[T Float](BinaryOp, []T, []T, []T) bool { return false }

func simdScalar[T Float](BinaryOp, []T, []T, T) bool { return false }

func simdAxpy[T Float](T, []T, []T) bool { return false }

func pause() {}

func simdMulAdd[T Float](_, _, _, _ []T) bool { return false }

func simdSum[T Float]([]T) (T, bool) { return 0, false }

func simdDot[T Float](_, _ []T) (T, bool) { return 0, false }

func simdMax[T Float]([]T) (T, bool) { return 0, false }

func simdColSum[T Float](_, _ []T) bool { return false }

func simdMomentum[T Float](_, _, _ []T, _, _ T, _ bool) bool { return false }

func simdAdam[T Float](_, _, _, _ []T, _ *[6]T) bool { return false }

func simdRouteMax[T Float](_, _, _, _ []T) bool { return false }
