package ops

// Sparse matrices by rows.
var (
	SparseTensorToCSRSparseMatrix = define("SparseTensorToCSRSparseMatrix(indices: int64, values: T, dense_shape: int64) -> sparse_matrix: variant", "T: {float32, float64, complex64, complex128}")
	DenseToCSRSparseMatrix        = define("DenseToCSRSparseMatrix(dense_input: T, indices: int64) -> sparse_output: variant", "T: {float32, float64, complex64, complex128}")
	CSRSparseMatrixToSparseTensor = define("CSRSparseMatrixToSparseTensor(sparse_matrix: variant) -> indices: int64, values: type, dense_shape: int64", "type: {float32, float64, complex64, complex128}")
	CSRSparseMatrixToDense        = define("CSRSparseMatrixToDense(sparse_input: variant) -> dense_output: type", "type: {float32, float64, complex64, complex128}")
	CSRSparseMatrixComponents     = define("CSRSparseMatrixComponents(csr_sparse_matrix: variant, index: int32) -> row_ptrs: int32, col_inds: int32, values: type", "type: {float32, float64, complex64, complex128}")
	SparseMatrixZeros             = define("SparseMatrixZeros(dense_shape: int64) -> sparse_matrix: variant", "type: {float32, float64, complex64, complex128}")
	SparseMatrixNNZ               = define("SparseMatrixNNZ(sparse_matrix: variant) -> nnz: int32")
	SparseMatrixTranspose         = define("SparseMatrixTranspose(input: variant) -> output: variant", "conjugate: bool = false", "type: {float32, float64, complex64, complex128}")
	SparseMatrixMatMul            = define("SparseMatrixMatMul(a: variant, b: T) -> output: T", "transpose_a: bool = false", "transpose_b: bool = false", "adjoint_a: bool = false", "adjoint_b: bool = false", "transpose_output: bool = false", "conjugate_output: bool = false")
	SparseMatrixSparseMatMul      = define("SparseMatrixSparseMatMul(a: variant, b: variant) -> c: variant", "type: {float32, float64, complex64, complex128}", "transpose_a: bool = false", "transpose_b: bool = false", "adjoint_a: bool = false", "adjoint_b: bool = false")
	SparseMatrixAdd               = define("SparseMatrixAdd(a: variant, b: variant, alpha: T, beta: T) -> c: variant", "T: {float32, float64, complex64, complex128}")
	SparseMatrixMul               = define("SparseMatrixMul(a: variant, b: T) -> output: variant")
	SparseMatrixSoftmax           = define("SparseMatrixSoftmax(logits: variant) -> softmax: variant", "type: {float32, float64}")
)
