package ops

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops/scalar"
)

// Special functions.
var (
	BesselI0   = define("BesselI0(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselI0)
	BesselI0e  = define("BesselI0e(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselI0e)
	BesselI1   = define("BesselI1(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselI1)
	BesselI1e  = define("BesselI1e(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselI1e)
	BesselJ0   = define("BesselJ0(x: T) -> y: T", "T: floats").sameShape().float(math.J0)
	BesselJ1   = define("BesselJ1(x: T) -> y: T", "T: floats").sameShape().float(math.J1)
	BesselK0   = define("BesselK0(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselK0)
	BesselK0e  = define("BesselK0e(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselK0e)
	BesselK1   = define("BesselK1(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselK1)
	BesselK1e  = define("BesselK1e(x: T) -> y: T", "T: floats").sameShape().float(scalar.BesselK1e)
	BesselY0   = define("BesselY0(x: T) -> y: T", "T: floats").sameShape().float(math.Y0)
	BesselY1   = define("BesselY1(x: T) -> y: T", "T: floats").sameShape().float(math.Y1)
	Ndtri      = define("Ndtri(x: T) -> y: T", "T: floats").sameShape().float(scalar.Ndtri)
	Betainc    = define("Betainc(a: T, b: T, x: T) -> z: T", "T: {float32, float64}")
	Igamma     = define("Igamma(a: T, x: T) -> z: T", "T: floats").broadcast()
	Igammac    = define("Igammac(a: T, x: T) -> z: T", "T: floats").broadcast()
	Zeta       = define("Zeta(x: T, q: T) -> z: T", "T: {float32, float64}").broadcast()
	Polygamma  = define("Polygamma(a: T, x: T) -> z: T", "T: {float32, float64}").broadcast()
	NextAfter  = define("NextAfter(x1: T, x2: T) -> output: T", "T: {float64, float32} = float32").broadcast()
	Dawsn      = define("Dawsn(x: T) -> y: T", "T: floats").sameShape()
	Expint     = define("Expint(x: T) -> y: T", "T: floats").sameShape()
	FresnelCos = define("FresnelCos(x: T) -> y: T", "T: floats").sameShape()
	FresnelSin = define("FresnelSin(x: T) -> y: T", "T: floats").sameShape()
	Spence     = define("Spence(x: T) -> y: T", "T: floats").sameShape()
)
