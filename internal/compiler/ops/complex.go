package ops

// Complex numbers.
var (
	Complex            = define("Complex(real: T, imag: T) -> out: Tout", "T: {float32, float64} = float32", "Tout: {complex64, complex128} = complex64").broadcast()
	Real               = define("Real(input: T) -> output: Tout", "T: {complex64, complex128} = complex64", "Tout: {float32, float64} = float32").sameShape()
	Imag               = define("Imag(input: T) -> output: Tout", "T: {complex64, complex128} = complex64", "Tout: {float32, float64} = float32").sameShape()
	ComplexAbs         = define("ComplexAbs(x: T) -> y: Tout", "T: {complex64, complex128} = complex64", "Tout: {float32, float64} = float32").sameShape()
	Angle              = define("Angle(input: T) -> output: Tout", "T: {complex64, complex128} = complex64", "Tout: {float32, float64} = float32").sameShape()
	Conj               = define("Conj(input: T) -> output: T", "T: {complex64, complex128, variant} = complex64").sameShape()
	ConjugateTranspose = define("ConjugateTranspose(x: T, perm: Tperm) -> y: T", "Tperm: indices = int32")
)
