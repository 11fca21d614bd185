package ops

// Ops that models of ONNX become where TensorFlow has none.
var (
	// Tokens splits each text along a new last dimension, padded: into the matches of a regular expression, the parts between
	// separators, or, where neither is given, single characters.
	Tokens = define("_Tokens(input: string) -> tokens: string", "expression: string = ''", "separators: list(string) = []", "mark: bool = false",
		"pad_value: string = ''", "mincharnum: int = 1").grows()
	// NgramCounts counts the n-grams of a pool in rows. starts says where the n-grams of each length begin in the pool, columns
	// which column of the result counts each n-gram.
	NgramCounts = define("_NgramCounts(input: T, pool: T, starts: int64, columns: int64) -> counts: float32", "T: {int32, int64, string}",
		"least: int = 1", "most: int = 1", "skips: int = 0")
	// RowOrder returns the order that sorts the slices along the first axis lexicographically; equal slices keep their order.
	RowOrder = define("_RowOrder(x: T) -> order: int32")
)
