package ops

// Diagonals of matrices.
var (
	MatrixDiagV2 = define("MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> output: T").grows()
	MatrixDiagV3 = define("MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> output: T",
		"align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'").grows()
	MatrixDiagPart   = define("MatrixDiagPart(input: T) -> diagonal: T")
	MatrixDiagPartV2 = define("MatrixDiagPartV2(input: T, k: int32, padding_value: T) -> diagonal: T").grows()
	MatrixDiagPartV3 = define("MatrixDiagPartV3(input: T, k: int32, padding_value: T) -> diagonal: T",
		"align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'").grows()
	MatrixSetDiag   = define("MatrixSetDiag(input: T, diagonal: T) -> output: T")
	MatrixSetDiagV2 = define("MatrixSetDiagV2(input: T, diagonal: T, k: int32) -> output: T")
	MatrixSetDiagV3 = define("MatrixSetDiagV3(input: T, diagonal: T, k: int32) -> output: T",
		"align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'")
)
