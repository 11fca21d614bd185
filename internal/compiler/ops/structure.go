package ops

// Constants, inputs, what passes values on, and control edges.
var (
	Const                  = define("Const() -> output: dtype", "value: tensor")
	ControlTrigger         = define("ControlTrigger()").state(Effects).opaque()
	GuaranteeConst         = define("GuaranteeConst(input: T) -> output: T").sameShape()
	Identity               = define("Identity(input: T) -> output: T").sameShape().opaque().cuda("%1", "fib")
	IdentityN              = define("IdentityN(input: [T]) -> output: [T]").opaque()
	NoOp                   = define("NoOp()").state(Effects).opaque()
	Placeholder            = define("Placeholder() -> output: dtype", "shape: shape = ?").state(Fed)
	PlaceholderV2          = define("PlaceholderV2() -> output: dtype", "shape: shape").state(Fed)
	PlaceholderWithDefault = define("PlaceholderWithDefault(input: dtype) -> output: dtype", "shape: shape").state(Fed).sameShape().opaque()
	PreventGradient        = define("PreventGradient(input: T) -> output: T", "message: string = ''").lists().sameShape()
	Print                  = define("Print(input: T, data: [U]) -> output: T", "message: string = ''", "first_n: int = -1", "summarize: int = 3").state(Effects).opaque()
	PrintV2                = define("PrintV2(input: string)", "output_stream: string = 'stderr'", "end: string = '\\n'").state(Effects)
	RefIdentity            = define("RefIdentity(input: &T) -> output: &T").opaque()
	Snapshot               = define("Snapshot(input: T) -> output: T").sameShape()
	StopGradient           = define("StopGradient(input: T) -> output: T").lists().sameShape().cuda("%1", "fib")
	DeepCopy               = define("DeepCopy(x: T) -> y: T").state(Effects).sameShape()
	Cast                   = define("Cast(x: SrcT) -> y: DstT", "Truncate: bool = false").sameShape()
	Bitcast                = define("Bitcast(input: T) -> output: type", "T: numbers", "type: numbers")
)
