package kernels

import (
	"math"
	"unsafe"
)

// mapSizes has the side of a tile before and after each transform.
var mapSizes = [transformCount][2]int{
	inputTransform: {winogradInput, winogradInput}, outputTransform: {winogradInput, winogradTile},
	gradTransform: {winogradTile, winogradInput}, filterTransform: {3, winogradInput}, filterGradTransform: {winogradInput, 3},
}

// mapLine applies a transform to one line or column of a tile. Opposite points share their even and odd parts.
func mapLine[T Float](kind transform, v [winogradInput]T) [winogradInput]T {
	const a, b = math.Sqrt2 / 2, math.Sqrt2
	switch kind {
	case inputTransform:
		evenA, oddA := v[4]-2*v[2], a*(v[3]-2*v[1])
		evenB, oddB := v[4]-0.5*v[2], b*(v[3]-0.5*v[1])
		return [winogradInput]T{v[0] + v[4] - 2.5*v[2], evenA + oddA, evenA - oddA, evenB + oddB, evenB - oddB, v[1] + v[5] - 2.5*v[3]}
	case outputTransform:
		sumA, difA, sumB, difB := v[1]+v[2], v[1]-v[2], v[3]+v[4], v[3]-v[4]
		return [winogradInput]T{v[0] + sumA + sumB, a*difA + b*difB, 0.5*sumA + 2*sumB, v[5] + 0.5*a*difA + 2*b*difB}
	case gradTransform:
		evenA, oddA := v[0]+0.5*v[2], a*(v[1]+0.5*v[3])
		evenB, oddB := v[0]+2*v[2], b*(v[1]+2*v[3])
		return [winogradInput]T{v[0], evenA + oddA, evenA - oddA, evenB + oddB, evenB - oddB, v[3]}
	case filterTransform:
		evenA, oddA := (v[0]+0.5*v[2])/-1.5, a*v[1]/-1.5
		evenB, oddB := (v[0]+2*v[2])/6, b*v[1]/6
		return [winogradInput]T{v[0], evenA + oddA, evenA - oddA, evenB + oddB, evenB - oddB, v[2]}
	default:
		sumA, difA, sumB, difB := (v[1]+v[2])/-1.5, (v[1]-v[2])/-1.5, (v[3]+v[4])/6, (v[3]-v[4])/6
		return [winogradInput]T{v[0] + sumA + sumB, a*difA + b*difB, v[5] + 0.5*sumA + 2*sumB}
	}
}

// applyTransform transforms a row of tiles. It is the preemption point between two calls of assembly.
//
//go:noinline
func applyTransform[T Float](kind transform, t *transformArgs) {
	if simdTransform[T](kind, t) {
		return
	}
	for i := range t.count {
		for c := range t.cols {
			portableTransform[T](kind, t, i, c)
		}
	}
}

// portableTransform does channel c of tile i.
func portableTransform[T Float](kind transform, t *transformArgs, i, c int) {
	size := int(unsafe.Sizeof(T(0)))
	n, out := mapSizes[kind][0], mapSizes[kind][1]
	src, dst := unsafe.Add(t.src, i*t.srcStep+c*size), i*t.dstStep+c*size
	var half [winogradInput][winogradInput]T
	for col := range n {
		var v [winogradInput]T
		for row := range n {
			v[row] = *(*T)(unsafe.Add(src, row*t.srcRow+col*t.srcCol))
		}
		v = mapLine(kind, v)
		for row := range out {
			half[row][col] = v[row]
		}
	}
	rows, cols := out, out
	if kind == outputTransform {
		rows, cols = t.rows, min(out, t.width-i*winogradTile)
	}
	for row := range rows {
		v := mapLine(kind, half[row])
		for col := range cols {
			at := dst + row*t.dstRow + col*t.dstCol
			if kind == outputTransform {
				v[col] = portablePixel(t, v[col], c*size, at)
			}
			*(*T)(unsafe.Add(t.dst, at)) = v[col]
		}
	}
}

// portablePixel applies the epilogue to a result.
func portablePixel[T Float](t *transformArgs, v T, channel, at int) T {
	if t.scale != nil {
		v *= *(*T)(unsafe.Add(t.scale, channel))
	}
	if t.bias != nil {
		v += *(*T)(unsafe.Add(t.bias, channel))
	}
	if t.add != nil {
		v += *(*T)(unsafe.Add(t.add, at))
	}
	if t.relu != 0 {
		v = max(v, 0)
	}
	return v
}
