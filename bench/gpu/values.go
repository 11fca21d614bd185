package main

import (
	"math"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// Weights and data are functions of a seed and an index, which peer/torch_gpu.py computes too. So no files are
// needed, not even for a table of ten million rows.

// mixed is a hash of an index (the finalizer "lowbias32" of Chris Wellons' search for integer hashes).
func mixed(seed, i uint32) uint32 {
	x := i*0x9e3779b1 + seed*0x85ebca77
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	x *= 0x846ca68b
	return x ^ x>>16
}

// uniform fills dst with numbers in [-scale, scale).
func uniform(dst []float32, seed uint32, scale float32) {
	for i := range dst {
		dst[i] = (float32(mixed(seed, uint32(i))>>8)*(1.0/(1<<23)) - 1) * scale
	}
}

// below fills dst with whole numbers smaller than n.
func below(dst []int64, seed uint32, n int64) {
	for i := range dst {
		dst[i] = int64(mixed(seed, uint32(i))) % n
	}
}

// initial is the initial value of a variable: uniform in [-Scale, Scale), or Value everywhere if Scale is 0.
type initial struct {
	Name  string  `json:"name"`
	Shape []int   `json:"shape"`
	Seed  uint32  `json:"seed"`
	Scale float32 `json:"scale"`
	Value float32 `json:"value"`
}

// begin chooses by the end of the name: He-uniform kernels, tables with small numbers, otherwise 0 or 1.
func begin(name string, shape []int, seed uint32) initial {
	v := initial{Name: name, Shape: shape, Seed: seed}
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "kernel":
		v.Scale = float32(math.Sqrt(6 / float64(tensor.NumElements(shape)/shape[len(shape)-1])))
	case "embeddings":
		v.Scale = 0.05
	case "gamma", "moving_variance":
		v.Value = 1
	}
	return v
}

// tensor computes the values.
func (v initial) tensor() *tensor.Tensor {
	t := tensor.New(tensor.Float32, v.Shape...)
	x := tensor.Values[float32](t)
	if v.Scale != 0 {
		uniform(x, v.Seed, v.Scale)
		return t
	}
	for i := range x {
		x[i] = v.Value
	}
	return t
}
