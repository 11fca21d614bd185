package ops

// Products of matrices.
var (
	Einsum = define("Einsum(inputs: N*T) -> output: T", "equation: string").heavy()
	MatMul = define("MatMul(a: T, b: T) -> product: T",
		"transpose_a: bool = false", "transpose_b: bool = false", "T: {int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}").precision(Multiplies).heavy()
	SparseMatMul = define("SparseMatMul(a: Ta, b: Tb) -> product: float32", "transpose_a: bool = false", "transpose_b: bool = false", "a_is_sparse: bool = false", "b_is_sparse: bool = false",
		"Ta: {float32} = float32", "Tb: {float32} = float32").heavy()
	BatchMatMul = define("BatchMatMul(x: T, y: T) -> output: T",
		"T: {int32, int64, float16, bfloat16, float32, float64, complex64, complex128}", "adj_x: bool = false", "adj_y: bool = false").precision(Multiplies).heavy()
	BatchMatMulV2 = define("BatchMatMulV2(x: T, y: T) -> output: T",
		"T: {int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}", "adj_x: bool = false", "adj_y: bool = false").precision(Multiplies).heavy()
	BatchMatMulV3 = define("BatchMatMulV3(x: Ta, y: Tb) -> output: Tout",
		"Ta: {int8, int16, int32, int64, uint8, float16, bfloat16, float32, float64, complex64, complex128}", "Tb: {int8, int16, int32, int64, uint8, float16, bfloat16, float32, float64, complex64, complex128}", "Tout: {int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128}", "adj_x: bool = false", "adj_y: bool = false").heavy()
)
