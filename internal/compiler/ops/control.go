package ops

// Branches, loops, and calls on named devices.
var (
	Case          = define("Case(branch_index: int32, input: [Tin]) -> output: [Tout]", "branches: list(func)", "output_shapes: list(shape) = []").state(Effects).opaque()
	If            = define("If(cond: Tcond, input: [Tin]) -> output: [Tout]", "then_branch: func", "else_branch: func", "output_shapes: list(shape) = []").state(Effects).opaque()
	RemoteCall    = define("RemoteCall(target: string, args: [Tin]) -> output: [Tout]", "f: func").state(Effects).opaque()
	StatelessCase = define("StatelessCase(branch_index: int32, input: [Tin]) -> output: [Tout]", "branches: list(func)", "output_shapes: list(shape) = []").opaque()
	StatelessIf   = define("StatelessIf(cond: Tcond, input: [Tin]) -> output: [Tout]",
		"then_branch: func", "else_branch: func", "output_shapes: list(shape) = []").opaque()
	StatelessWhile = define("StatelessWhile(input: [T]) -> output: [T]",
		"cond: func", "body: func", "output_shapes: list(shape) = []", "parallel_iterations: int = 10").opaque()
	While = define("While(input: [T]) -> output: [T]", "cond: func", "body: func", "output_shapes: list(shape) = []", "parallel_iterations: int = 10").state(Effects).opaque()
)
