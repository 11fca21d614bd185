package ops

// Matrices.
var (
	Cholesky              = define("Cholesky(input: T) -> output: T", "T: {float64, float32, float16, complex64, complex128}")
	MatrixInverse         = define("MatrixInverse(input: T) -> output: T", "adjoint: bool = false", "T: {float64, float32, float16, complex64, complex128}")
	MatrixDeterminant     = define("MatrixDeterminant(input: T) -> output: T", "T: {float16, float32, float64, complex64, complex128}")
	LogMatrixDeterminant  = define("LogMatrixDeterminant(input: T) -> sign: T, log_abs_determinant: T", "T: {float16, float32, float64, complex64, complex128}")
	MatrixSolve           = define("MatrixSolve(matrix: T, rhs: T) -> output: T", "adjoint: bool = false", "T: {float64, float32, float16, complex64, complex128}")
	MatrixTriangularSolve = define("MatrixTriangularSolve(matrix: T, rhs: T) -> output: T", "lower: bool = true", "adjoint: bool = false", "T: inexact")
	SelfAdjointEigV2      = define("SelfAdjointEigV2(input: T) -> e: T, v: T", "compute_v: bool = true", "T: {float64, float32, float16, complex64, complex128}")
)
