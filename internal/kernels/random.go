package kernels

import "math"

// Rand is a stream of random numbers: the key and counter inputs of TensorFlow's StatelessRandom*V2 ops with
// algorithm 1 (Philox). The same stream gives the same numbers on any number of threads.
type Rand struct {
	Key     uint64
	Counter [2]uint64
}

const (
	randGrain = 256 // groups of four numbers
	// normalGroups is how many counters TensorFlow reserves for one group of truncated normals: 256 draws an output.
	normalGroups32 = 256
	normalGroups64 = 128
	cutoff         = 2    // truncated normals lie strictly within +-2
	smallUniform   = 1e-7 // keeps the logarithm finite
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
		f.do(ceilDiv(len(dst), 4))
		return
	}
	f.f64 = as[float64](dst)
	f.do(ceilDiv(len(dst), 2))
}

func (f *random) do(groups int) {
	Parallel(groups, randGrain, f)
	*f = random{}
	randoms.put(f)
}

// Run implements Task over groups of one counter value.
func (f *random) Run(lo, hi int) {
	p := newPhilox(f.rand.Key, f.rand.Counter)
	if f.kind == truncated {
		f.truncated(p, lo, hi)
		return
	}
	p.skip(uint64(lo))
	for g := lo; g < hi; g++ {
		w := p.next()
		switch {
		case f.f32 != nil:
			v := group32(f.kind, w)
			copy(f.f32[4*g:], v[:])
		case f.f64 != nil:
			v := group64(f.kind, w)
			copy(f.f64[2*g:], v[:])
		}
	}
}

func group32(kind randKind, w [4]uint32) (v [4]float32) {
	if kind == uniform {
		for i := range v {
			v[i] = unit32(w[i])
		}
		return v
	}
	v[0], v[1] = boxMuller32(w[0], w[1])
	v[2], v[3] = boxMuller32(w[2], w[3])
	return v
}

func group64(kind randKind, w [4]uint32) (v [2]float64) {
	if kind == uniform {
		return [2]float64{unit64(w[0], w[1]), unit64(w[2], w[3])}
	}
	v[0], v[1] = boxMuller64(w)
	return v
}

// unit32 makes a float in [0, 1) of the low 23 bits.
func unit32(w uint32) float32 { return math.Float32frombits(127<<23|w&(1<<23-1)) - 1 }

// unit64 makes a float in [0, 1) of 52 bits, the high ones from the first word.
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

// truncated fills groups, each from its own reserved run of counters.
func (f *random) truncated(base philox, lo, hi int) {
	for g := lo; g < hi; g++ {
		p := base
		if f.f32 != nil {
			p.skip(uint64(g) * normalGroups32)
			v := truncated32(&p)
			copy(f.f32[4*g:], v[:])
			continue
		}
		p.skip(uint64(g) * normalGroups64)
		v := truncated64(&p)
		copy(f.f64[2*g:], v[:])
	}
}

func truncated32(p *philox) (v [4]float32) {
	for n := 0; ; {
		w := p.next()
		for i := 0; i < 4; i += 2 {
			a, b := boxMuller32(w[i], w[i+1])
			for _, x := range [2]float32{a, b} {
				if abs(x) < cutoff {
					v[n] = x
					if n++; n == len(v) {
						return v
					}
				}
			}
		}
	}
}

func truncated64(p *philox) (v [2]float64) {
	for n := 0; ; {
		a, b := boxMuller64(p.next())
		for _, x := range [2]float64{a, b} {
			if abs(x) < cutoff {
				v[n] = x
				if n++; n == len(v) {
					return v
				}
			}
		}
	}
}
