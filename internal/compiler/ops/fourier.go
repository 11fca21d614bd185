package ops

// Fourier transforms.
var (
	FFT         = define("FFT(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	FFT2D       = define("FFT2D(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	FFT3D       = define("FFT3D(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	IFFT        = define("IFFT(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	IFFT2D      = define("IFFT2D(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	IFFT3D      = define("IFFT3D(input: Tcomplex) -> output: Tcomplex", "Tcomplex: {complex64, complex128} = complex64").sameShape()
	BatchFFT    = define("BatchFFT(input: complex64) -> output: complex64").sameShape()
	BatchFFT2D  = define("BatchFFT2D(input: complex64) -> output: complex64").sameShape()
	BatchFFT3D  = define("BatchFFT3D(input: complex64) -> output: complex64").sameShape()
	BatchIFFT   = define("BatchIFFT(input: complex64) -> output: complex64").sameShape()
	BatchIFFT2D = define("BatchIFFT2D(input: complex64) -> output: complex64").sameShape()
	BatchIFFT3D = define("BatchIFFT3D(input: complex64) -> output: complex64").sameShape()
	RFFT        = define("RFFT(input: Treal, fft_length: int32) -> output: Tcomplex", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
	RFFT2D      = define("RFFT2D(input: Treal, fft_length: int32) -> output: Tcomplex", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
	RFFT3D      = define("RFFT3D(input: Treal, fft_length: int32) -> output: Tcomplex", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
	IRFFT       = define("IRFFT(input: Tcomplex, fft_length: int32) -> output: Treal", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
	IRFFT2D     = define("IRFFT2D(input: Tcomplex, fft_length: int32) -> output: Treal", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
	IRFFT3D     = define("IRFFT3D(input: Tcomplex, fft_length: int32) -> output: Treal", "Treal: {float32, float64} = float32", "Tcomplex: {complex64, complex128} = complex64").grows()
)
