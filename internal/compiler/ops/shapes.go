package ops

// Shapes as values, and other shapes of the same elements.
var (
	BroadcastArgs         = define("BroadcastArgs(s0: T, s1: T) -> r0: T", "T: indices = int32")
	EnsureShape           = define("EnsureShape(input: T) -> output: T", "shape: shape").sameShape()
	ExpandDims            = define("ExpandDims(input: T, dim: Tdim size) -> output: T", "Tdim: indices = int32").lists()
	Rank                  = define("Rank(input: T) -> output: int32").lists().byShape()
	Reshape               = define("Reshape(tensor: T, shape: Tshape size) -> output: T", "Tshape: indices = int32").lists()
	Shape                 = define("Shape(input: T) -> output: out_type", "out_type: indices = int32").lists().byShape()
	ShapeN                = define("ShapeN(input: N*T) -> output: N*out_type", "out_type: indices = int32").lists()
	Size                  = define("Size(input: T) -> output: out_type", "out_type: indices = int32").lists().byShape()
	Squeeze               = define("Squeeze(input: T) -> output: T", "squeeze_dims: list(int) = []").lists()
	VariableShape         = define("VariableShape(input: resource) -> output: out_type", "out_type: indices = int32").state(Reads)
	BroadcastGradientArgs = define("BroadcastGradientArgs(s0: T, s1: T) -> r0: T, r1: T", "T: indices = int32")
)
