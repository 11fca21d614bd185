package ops

// Random numbers.
var (
	StatelessRandomNormalV2 = define("StatelessRandomNormalV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
	StatelessRandomUniformV2 = define("StatelessRandomUniformV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
	StatelessTruncatedNormalV2 = define("StatelessTruncatedNormalV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
)
