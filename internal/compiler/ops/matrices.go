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
	Svd                   = define("Svd(input: T) -> s: T, u: T, v: T", "compute_uv: bool = true", "full_matrices: bool = false", "T: {float64, float32, float16, complex64, complex128}")
	Eig                   = define("Eig(input: T) -> e: Tout, v: Tout", "compute_v: bool = true", "T: {float32, float64, complex64, complex128}", "Tout: {complex64, complex128}")
	Lu                    = define("Lu(input: T) -> lu: T, p: output_idx_type", "T: {float64, float32, float16, complex64, complex128}", "output_idx_type: indices = int32")
	MatrixSolveLs         = define("MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: float64) -> output: T", "T: {float64, float32, float16, complex64, complex128}", "fast: bool = true")
	MatrixSquareRoot      = define("MatrixSquareRoot(input: T) -> output: T", "T: {float64, float32, float16, complex64, complex128}")
	MatrixLogarithm       = define("MatrixLogarithm(input: T) -> output: T", "T: {complex64, complex128}")
	TridiagonalSolve      = define("TridiagonalSolve(diagonals: T, rhs: T) -> output: T", "partial_pivoting: bool = true", "perturb_singular: bool = false", "T: {float64, float32, complex64, complex128}")
	TridiagonalMatMul     = define("TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> output: T", "T: {float64, float32, complex64, complex128}")
	BandedTriangularSolve = define("BandedTriangularSolve(matrix: T, rhs: T) -> output: T", "lower: bool = true", "adjoint: bool = false", "T: {float64, float32, float16, complex64, complex128}")
	CholeskyGrad          = define("CholeskyGrad(l: T, grad: T) -> output: T", "T: {float16, float32, float64}")
)
