package ops

// Ops that models of ONNX become where TensorFlow has none.
var (
	// Tokens are the parts of each text along a new last dimension, padded: those that a regular expression matches, those between
	// separators, or all characters, where neither is given.
	Tokens = define("_Tokens(input: string) -> tokens: string", "expression: string = ''", "separators: list(string) = []", "mark: bool = false",
		"pad_value: string = ''", "mincharnum: int = 1").grows()
	// NgramCounts counts the n-grams of a pool in rows: starts says where the n-grams of each length begin in the pool, columns which
	// column of the result counts each one.
	NgramCounts = define("_NgramCounts(input: T, pool: T, starts: int64, columns: int64) -> counts: float32", "T: {int32, int64, string}",
		"least: int = 1", "most: int = 1", "skips: int = 0")
	// RowOrder are the places of the slices along the first axis in ascending order: the first elements that differ decide, and of equal
	// slices the earlier one comes first.
	RowOrder = define("_RowOrder(x: T) -> order: int32")
)
