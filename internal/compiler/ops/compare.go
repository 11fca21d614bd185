package ops

// Comparisons, and choices by them.
var (
	Equal            = define("Equal(x: T, y: T) -> z: bool", "incompatible_shape_error: bool = true").broadcast().grows().cuda("%1 == %2", "fib").onnx("Equal")
	NotEqual         = define("NotEqual(x: T, y: T) -> z: bool", "incompatible_shape_error: bool = true").broadcast().grows().cuda("%1 != %2", "fib")
	Less             = define("Less(x: T, y: T) -> z: bool", "T: reals").broadcast().grows().cuda("%1 < %2", "fi").onnx("Less")
	LessEqual        = define("LessEqual(x: T, y: T) -> z: bool", "T: reals").broadcast().grows().cuda("%1 <= %2", "fi").onnx("LessOrEqual")
	Greater          = define("Greater(x: T, y: T) -> z: bool", "T: reals").broadcast().grows().cuda("%1 > %2", "fi").onnx("Greater")
	GreaterEqual     = define("GreaterEqual(x: T, y: T) -> z: bool", "T: reals").broadcast().grows().cuda("%1 >= %2", "fi").onnx("GreaterOrEqual")
	ApproximateEqual = define("ApproximateEqual(x: T, y: T) -> z: bool", "T: numbers", "tolerance: float = 9.99999975e-06").broadcast()
	Select           = define("Select(condition: bool, t: T, e: T) -> output: T").grows()
	SelectV2         = define("SelectV2(condition: bool, t: T, e: T) -> output: T").precision(Follows).grows().cuda("%1 ? %2 : %3", "b").onnx("Where")
	ClipByValue      = define("ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> output: T", "T: numbers").sameShape()
	CheckNumerics    = define("CheckNumerics(tensor: T) -> output: T", "T: floats", "message: string").sameShape()
	CheckNumericsV2  = define("CheckNumericsV2(tensor: T) -> output: T", "T: floats", "message: string")
)
