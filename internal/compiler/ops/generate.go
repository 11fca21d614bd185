package ops

// Tensors made of sizes.
var (
	Timestamp  = define("Timestamp() -> ts: float64").state(Random)
	Empty      = define("Empty(shape: int32) -> output: dtype", "init: bool = false").grows()
	Fill       = define("Fill(dims: index_type size, value: T) -> output: T", "index_type: indices = int32").grows()
	LinSpace   = define("LinSpace(start: T, stop: T, num: Tidx) -> output: T", "T: floats", "Tidx: indices = int32").grows()
	MatrixDiag = define("MatrixDiag(diagonal: T) -> output: T").grows()
	OneHot     = define("OneHot(indices: TI, depth: int32 size, on_value: T, off_value: T) -> output: T",
		"axis: int = -1", "TI: {int8, int32, int64, uint8} = int64").grows()
	OnesLike = define("OnesLike(x: T) -> y: T",
		"T: {bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}").sameShape().byShape().cuda("1", "fi")
	Range = define("Range(start: Tidx const, limit: Tidx size, delta: Tidx const) -> output: Tidx",
		"Tidx: {int8, int16, int32, int64, uint16, uint32, float16, bfloat16, float32, float64} = int32").grows().onnx("Range")
	ZerosLike = define("ZerosLike(x: T) -> y: T").lists().sameShape().precision(Follows).byShape().cuda("0", "fib")
)
