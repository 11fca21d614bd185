package ops

// Recurrent cells, and their loops over time, in one op.
var (
	LSTMBlockCell = define("LSTMBlockCell(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T", "forget_bias: float = 1.0", "cell_clip: float = 3.0", "use_peephole: bool = false", "T: {float16, float32}")
	GRUBlockCell  = define("GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> r: T, u: T, c: T, h: T", "T: {float32}")
	BlockLSTM     = define("BlockLSTM(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T", "forget_bias: float = 1.0", "cell_clip: float = 3.0", "use_peephole: bool = false", "T: {float16, float32}")
	BlockLSTMV2   = define("BlockLSTMV2(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T", "cell_clip: float = 0.0", "use_peephole: bool = false", "T: {float16, float32}")
)
