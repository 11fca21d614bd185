package kernels

import "math"

const (
	randGrain = 256  // groups in a range
	randCall  = 1024 // groups in a call of assembly
	// truncatedStep is the number of counters that TensorFlow reserves for a group of four truncated normals; for two, half.
	truncatedStep = 256
	cutoff        = 2    // truncated normals lie strictly within +-2
	smallUniform  = 1e-7 // keeps the logarithm finite
)

// random is one fill in progress.
type random struct {
	kind randKind
	rand Rand
	f32  []float32
	f64  []float64
}

type randKind int

const (
	uniform randKind = iota
	normal
	truncated
)

var randoms freelist[random]

// Uniform fills dst with numbers in [0, 1): StatelessRandomUniformV2.
func Uniform[T Float](dst []T, r Rand) { fillRandom(uniform, dst, r) }

// Normal fills dst with standard normals by the Box-Muller transform: StatelessRandomNormalV2.
func Normal[T Float](dst []T, r Rand) { fillRandom(normal, dst, r) }

// TruncatedNormal fills dst with standard normals, drawn again where |x| >= 2: StatelessTruncatedNormalV2.
func TruncatedNormal[T Float](dst []T, r Rand) { fillRandom(truncated, dst, r) }

func fillRandom[T Float](kind randKind, dst []T, r Rand) {
	f := randoms.get()
	f.kind, f.rand = kind, r
	if is32[T]() {
		f.f32 = as[float32](dst)
	} else {
		f.f64 = as[float64](dst)
	}
	Parallel(ceilDiv(len(dst), groupSize[T]()), randGrain, f)
	*f = random{}
	randoms.put(f)
}

// groupSize returns how many numbers the four words of a counter give.
func groupSize[T Float]() int {
	if is32[T]() {
		return 4
	}
	return 2
}

// Run implements Task over groups.
func (f *random) Run(lo, hi int) {
	for ; lo < hi; lo += randCall {
		if end := min(lo+randCall, hi); f.f32 != nil {
			fillGroups(f, f.f32[4*lo:min(4*end, len(f.f32))], lo)
		} else {
			fillGroups(f, f.f64[2*lo:min(2*end, len(f.f64))], lo)
		}
	}
}

// fillGroups fills dst from the given group on, with vectors as far as possible and the rest group by group.
func fillGroups[T Float](f *random, dst []T, group int) {
	size, step := groupSize[T](), uint64(1)
	if f.kind == truncated {
		step = truncatedStep / uint64(4/size)
	}
	p := newPhilox(f.rand.Key, f.rand.Counter)
	p.skip(uint64(group) * step)
	done := 0
	if r, ok := p.run(randCall, step); ok {
		done = size * simdRandom(f.kind, dst, &r)
	}
	if f.kind == truncated && done > 0 {
		redrawAll(p, dst[:done], step)
	}
	p.skip(uint64(done/size) * step)
	for i := done; i < len(dst); i += size {
		q := p
		v := draw[T](f.kind, q.next())
		if f.kind == truncated {
			redraw(v[:size], keepInside(v[:size], v[:size]), &q)
		}
		copy(dst[i:], v[:size])
		p.skip(step)
	}
}

// draw makes a group of numbers from the words of a counter: four or, in double precision, two.
func draw[T Float](kind randKind, w [4]uint32) (v [4]T) {
	switch {
	case kind == uniform && is32[T]():
		for i := range v {
			v[i] = T(unit32(w[i]))
		}
	case kind == uniform:
		v[0], v[1] = T(unit64(w[0], w[1])), T(unit64(w[2], w[3]))
	case is32[T]():
		for i := 0; i < 4; i += 2 {
			a, b := boxMuller32(w[i], w[i+1])
			v[i], v[i+1] = T(a), T(b)
		}
	default:
		a, b := boxMuller64(w)
		v[0], v[1] = T(a), T(b)
	}
	return v
}

// redrawAll redraws groups that the vector kernels drew from counters step apart. It also uses these kernels for the second draw,
// after which nearly every group is complete.
func redrawAll[T Float](p philox, groups []T, step uint64) {
	var buffer [4 * randCall]T
	second, size := buffer[:len(groups)], groupSize[T]()
	p.skip(1)
	done := 0
	if r, ok := p.run(randCall, step); ok {
		done = size * simdRandom(normal, second, &r)
	}
	for i := 0; i < len(groups); i += size {
		group := groups[i : i+size]
		if allInside(group) {
			continue
		}
		n := keepInside(group, group)
		q := p
		if n < size && i < done {
			n += keepInside(group[n:], second[i:i+size])
			q.skip(1)
		}
		if n < size {
			q.skip(uint64(i/size) * step)
			redraw(group, n, &q)
		}
	}
}

// redraw completes a group from its next counters; n of its numbers are done.
func redraw[T Float](group []T, n int, next *philox) {
	for n < len(group) {
		v := draw[T](normal, next.next())
		n += keepInside(group[n:], v[:len(group)])
	}
}

func allInside[T Float](x []T) bool {
	for _, v := range x {
		if abs(v) >= cutoff {
			return false
		}
	}
	return true
}

// keepInside copies the elements of x within the cutoff to dst, as far as there is room, and returns how many. dst may be x.
func keepInside[T Float](dst, x []T) (n int) {
	for _, v := range x {
		if n < len(dst) && abs(v) < cutoff {
			dst[n] = v
			n++
		}
	}
	return n
}

// unit32 makes a float in [0, 1) from the low 23 bits.
func unit32(w uint32) float32 { return math.Float32frombits(127<<23|w&(1<<23-1)) - 1 }

// unit64 makes a float in [0, 1) from 52 bits, with the high bits from the first word.
func unit64(w0, w1 uint32) float64 {
	return math.Float64frombits(1023<<52|uint64(w0&(1<<20-1))<<32|uint64(w1)) - 1
}

func boxMuller32(w0, w1 uint32) (float32, float32) {
	u := max(unit32(w0), smallUniform)
	angle := float64(float32(2 * math.Pi * float64(unit32(w1))))
	radius := float32(math.Sqrt(float64(-2 * float32(math.Log(float64(u))))))
	return float32(math.Sin(angle)) * radius, float32(math.Cos(angle)) * radius
}

func boxMuller64(w [4]uint32) (float64, float64) {
	u := max(unit64(w[0], w[1]), smallUniform)
	sin, cos := math.Sincos(2 * math.Pi * unit64(w[2], w[3]))
	radius := math.Sqrt(-2 * math.Log(u))
	return sin * radius, cos * radius
}
