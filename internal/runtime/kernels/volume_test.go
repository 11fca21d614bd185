package kernels

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawVolume draws a geometry of volumes, in groups of channels; pools keep the channels.
func drawVolume(t *rapid.T, pool bool) Volume {
	multiplier := 0
	if pool {
		multiplier = 1
	}
	v := Volume{Window: drawWindow(t, multiplier), InD: rapid.IntRange(0, 4).Draw(t, "d"), KD: rapid.IntRange(1, 3).Draw(t, "kd"),
		StrideD: rapid.IntRange(1, 2).Draw(t, "sd"), DilD: rapid.IntRange(1, 2).Draw(t, "dd")}
	v.OutD, v.PadFront = OutSize(v.InD, v.KD, v.StrideD, v.DilD, rapid.Bool().Draw(t, "same depth"))
	v.OutD = max(v.OutD, 0)
	return v
}

// eachTriple calls f for each pixel of the result and of the volume that a tap pairs, counted without channels.
func (v *Volume) eachTriple(f func(out, in, tap int)) {
	g := v.slice()
	for i := range v.Batch * v.OutD {
		v.depths(i, func(kd, slice int) {
			eachPair(g, func(out, in, tap int) {
				f(i*g.pixels()+out, slice*g.InH*g.InW+in, kd*g.KH*g.KW+tap)
			})
		})
	}
}

func testConv3D[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkConv3D[T](t, drawVolume(t, false), rapid.Uint64().Draw(t, "seed"))
	})
}

// checkConv3D compares a convolution of volumes and its gradients with sums over eachTriple.
func checkConv3D[T Float](t rapid.TB, v Volume, seed uint64) {
	r, weights := newRand(seed), v.KD*v.weights()
	x, w, dy := vector[T](r, v.inVolume()), vector[T](r, weights), vector[T](r, v.outVolume())
	y, dx, dw := make([]float64, v.outVolume()), make([]float64, v.inVolume()), make([]float64, weights)
	v.eachTriple(func(out, in, tap int) {
		for ic := range v.groupIn() {
			for oc := range v.OutC {
				i, f, o := in*v.InC+oc/v.groupOut()*v.groupIn()+ic, (tap*v.groupIn()+ic)*v.OutC+oc, out*v.OutC+oc
				y[o] += float64(x[i]) * float64(w[f])
				dx[i] += float64(dy[o]) * float64(w[f])
				dw[f] += float64(x[i]) * float64(dy[o])
			}
		}
	})
	tol := tolerance[T](300)
	got := vector[T](r, v.outVolume())
	Conv3D(v, got, x, w)
	requireClose(t, "forward", got, y, tol, 4)
	got = vector[T](r, v.inVolume())
	Conv3DInputGrad(v, got, dy, w)
	requireClose(t, "input gradient", got, dx, tol, 4)
	got = vector[T](r, weights)
	Conv3DFilterGrad(v, got, x, dy)
	requireClose(t, "filter gradient", got, dw, tol, 4)
}

func TestConv3D(t *testing.T) {
	t.Run("float32", testConv3D[float32])
	t.Run("float64", testConv3D[float64])
}

func testPool3D[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVolume(t, true)
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		x, dy := vector[T](r, v.inVolume()), vector[T](r, v.outVolume())
		for i := range x {
			x[i] = T(math.Round(float64(x[i]) * 2)) // with ties
			if i%11 == 3 {
				x[i] = T(math.NaN())
			}
		}
		top, mean, count := make([]float64, v.outVolume()), make([]float64, v.outVolume()), make([]float64, v.outVolume())
		for i := range top {
			top[i] = float64(lowest[T]())
		}
		each := func(f func(o, i int)) {
			v.eachTriple(func(out, in, _ int) {
				for c := range v.InC {
					f(out*v.OutC+c, in*v.InC+c)
				}
			})
		}
		each(func(o, i int) {
			count[o]++
			if e := float64(x[i]); e > top[o] {
				top[o] = e
			}
		})
		dTop, dMean := make([]float64, v.inVolume()), make([]float64, v.inVolume())
		each(func(o, i int) {
			if float64(x[i]) == top[o] {
				dTop[i] += float64(dy[o])
			}
			mean[o] += float64(x[i]) / count[o]
			dMean[i] += float64(dy[o]) / count[o]
		})
		tol := tolerance[T](100)
		y, dx := make([]T, v.outVolume()), make([]T, v.inVolume())
		MaxPool3D(v, y, x)
		requireClose(t, "largest", y, top, 0, 0)
		MaxPool3DGrad(v, dx, x, y, dy)
		requireClose(t, "gradient of the largest", dx, dTop, tol, 4)
		AvgPool3D(v, y, x)
		requireClose(t, "mean", y, mean, tol, 4)
		AvgPool3DGrad(v, dx, dy)
		requireClose(t, "gradient of the mean", dx, dMean, tol, 4)
	})
}

func TestPool3D(t *testing.T) {
	t.Run("float32", testPool3D[float32])
	t.Run("float64", testPool3D[float64])
}
