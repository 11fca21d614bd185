//go:build amd64 && !noasm

package kernels

import "golang.org/x/sys/cpu"

// simdSet has the vector kernels of one element type and level. Where a kernel is nil, portable Go does the work.
type simdSet struct {
	binary  [binaryCount]func(n int, dst, a, b *byte)
	unary   [unaryCount]func(n int, dst, a *byte)
	scalar  [binaryCount]func(n int, dst, a *byte, k uint64)
	axpy    func(n int, y, x *byte, k uint64)
	sum     func(n int, a *byte) uint64
	dot     func(n int, a, b *byte) uint64
	dotRows func(n, groups, stride, step int, dst, a, x *byte, alpha, keep, hop uint64)
	maxOf   func(n int, a *byte) uint64
	minOf   func(n int, a *byte) uint64
	columns struct {
		sum      func(rows, cols int, acc, x *byte)
		centered func(rows, cols int, acc, x, mean *byte)
		dot      func(rows, cols int, acc, dy, x, mean *byte)
	}
	bias     [2]func(rows, cols, stride int, dst, x, shift *byte)        // with Relu: 1
	scale    [2]func(rows, cols, stride int, dst, x, shift, scale *byte) // with Relu: 1
	normGrad func(rows, cols int, dst, dy, x, a, b, c *byte)
	momentum [2]func(n int, w, m, g, k *byte) // nesterov: 1
	keras    [2]func(n int, w, m, g, k *byte) // nesterov: 1
	rmsprop  func(n int, w, ms, mom, g, k *byte)
	centered func(n int, w, ms, mom, mg, g, k *byte)
	ftrl     func(n int, w, accum, linear, g, k *byte)
	adam     func(n int, w, m, v, g, k *byte)
	adagrad  func(n int, w, a, g, k *byte)
	pixels   pixelSet
	winograd [transformCount]func(t *byte)
}

// pixelSet has the kernels over pixels. stride0 belongs to the first operand or pair of operands.
type pixelSet struct {
	max         func(rows, cols, stride0, stride1, lines, lineStep, taps, tapStep int, dst, x *byte)
	routeWindow func(rows, cols, stride0, stride1, lines, lineStep, taps, tapStep int, dx, x, dy, y *byte)
	mulAdd      func(rows, cols, stride0, stride1 int, dst, x, w *byte)
	dot         func(rows, cols, stride0, stride1 int, x, y, acc *byte)
	route       func(rows, cols, stride0, stride1 int, dx, x, left, y *byte)
	routeFirst  func(rows, cols, stride0, stride1 int, dx, x, left, y *byte)
	copy        func(rows, cols, stride0, stride1 int, dst, x *byte)
}

var simdF32AVX2 = simdSet{
	binary: [binaryCount]func(n int, dst, a, b *byte){
		Add:               addF32AVX2,
		Sub:               subF32AVX2,
		Mul:               mulF32AVX2,
		Div:               divF32AVX2,
		Max:               maxF32AVX2,
		Min:               minF32AVX2,
		SquaredDifference: squaredDifferenceF32AVX2,
		ReluGrad:          reluGradF32AVX2,
		Relu6Grad:         relu6GradF32AVX2,
		SigmoidGrad:       sigmoidGradF32AVX2,
		TanhGrad:          tanhGradF32AVX2,
	},
	unary: [unaryCount]func(n int, dst, a *byte){
		Neg:          negF32AVX2,
		Abs:          absF32AVX2,
		Square:       squareF32AVX2,
		Sqrt:         sqrtF32AVX2,
		Rsqrt:        rsqrtF32AVX2,
		Reciprocal:   reciprocalF32AVX2,
		Round:        roundF32AVX2,
		Relu:         reluF32AVX2,
		Relu6:        relu6F32AVX2,
		NearestBrain: nearestBrainF32AVX2,
		CutBrain:     truncateBrainF32AVX2,
		NearestHalf:  nearestHalfF32AVX2,
		Exp:          expF32AVX2,
		Sigmoid:      sigmoidF32AVX2,
		Tanh:         tanhF32AVX2,
		Log:          logF32AVX2,
		Log1p:        log1pF32AVX2,
		Softplus:     softplusF32AVX2,
		Erf:          erfF32AVX2,
		Sin:          sinF32AVX2,
		Cos:          cosF32AVX2,
	},
	scalar: [binaryCount]func(n int, dst, a *byte, k uint64){
		Add: addScalarF32AVX2,
		Sub: subScalarF32AVX2,
		Mul: mulScalarF32AVX2,
		Div: divScalarF32AVX2,
		Max: maxScalarF32AVX2,
		Min: minScalarF32AVX2,
	},
	axpy: axpyF32AVX2, sum: sumF32AVX2, dot: dotF32AVX2, dotRows: dotRowsF32AVX2, maxOf: maxOfF32AVX2, minOf: minOfF32AVX2,
	bias:     [2]func(rows, cols, stride int, dst, x, shift *byte){biasRowsF32AVX2, biasReluRowsF32AVX2},
	scale:    [2]func(rows, cols, stride int, dst, x, shift, scale *byte){scaleRowsF32AVX2, scaleReluRowsF32AVX2},
	normGrad: normGradRowsF32AVX2,
	momentum: [2]func(n int, w, m, g, k *byte){momentumF32AVX2, nesterovF32AVX2},
	keras:    [2]func(n int, w, m, g, k *byte){kerasMomentumF32AVX2, kerasNesterovF32AVX2},
	rmsprop:  rmspropF32AVX2, centered: rmspropCenteredF32AVX2, ftrl: ftrlF32AVX2,
	adam:    adamF32AVX2,
	adagrad: adagradF32AVX2,
	pixels: pixelSet{max: maxWindowF32AVX2, mulAdd: mulAddPixelsF32AVX2, dot: dotPixelsF32AVX2, route: routePixelsF32AVX2, routeFirst: routeFirstPixelsF32AVX2,
		copy: copyRowsF32AVX2, routeWindow: routeWindowF32AVX2},
	winograd: [transformCount]func(t *byte){
		inputTransform:      winogradInputF32AVX2,
		outputTransform:     winogradOutputF32AVX2,
		gradTransform:       winogradGradF32AVX2,
		filterTransform:     winogradFilterF32AVX2,
		filterGradTransform: winogradFilterGradF32AVX2,
	},
}

var simdF32AVX512 = simdSet{
	binary: [binaryCount]func(n int, dst, a, b *byte){
		Add:               addF32AVX512,
		Sub:               subF32AVX512,
		Mul:               mulF32AVX512,
		Div:               divF32AVX512,
		Max:               maxF32AVX512,
		Min:               minF32AVX512,
		SquaredDifference: squaredDifferenceF32AVX512,
		ReluGrad:          reluGradF32AVX512,
		Relu6Grad:         relu6GradF32AVX512,
		SigmoidGrad:       sigmoidGradF32AVX512,
		TanhGrad:          tanhGradF32AVX512,
	},
	unary: [unaryCount]func(n int, dst, a *byte){
		Neg:          negF32AVX512,
		Abs:          absF32AVX512,
		Square:       squareF32AVX512,
		Sqrt:         sqrtF32AVX512,
		Rsqrt:        rsqrtF32AVX512,
		Reciprocal:   reciprocalF32AVX512,
		Round:        roundF32AVX512,
		Relu:         reluF32AVX512,
		Relu6:        relu6F32AVX512,
		NearestBrain: nearestBrainF32AVX512,
		CutBrain:     truncateBrainF32AVX512,
		NearestHalf:  nearestHalfF32AVX512,
		Exp:          expF32AVX512,
		Sigmoid:      sigmoidF32AVX512,
		Tanh:         tanhF32AVX512,
		Log:          logF32AVX512,
		Log1p:        log1pF32AVX512,
		Softplus:     softplusF32AVX512,
		Erf:          erfF32AVX512,
		Sin:          sinF32AVX512,
		Cos:          cosF32AVX512,
	},
	scalar: [binaryCount]func(n int, dst, a *byte, k uint64){
		Add: addScalarF32AVX512,
		Sub: subScalarF32AVX512,
		Mul: mulScalarF32AVX512,
		Div: divScalarF32AVX512,
		Max: maxScalarF32AVX512,
		Min: minScalarF32AVX512,
	},
	axpy: axpyF32AVX512, sum: sumF32AVX512, dot: dotF32AVX512, dotRows: dotRowsF32AVX512, maxOf: maxOfF32AVX512, minOf: minOfF32AVX512,
	bias:     [2]func(rows, cols, stride int, dst, x, shift *byte){biasRowsF32AVX512, biasReluRowsF32AVX512},
	scale:    [2]func(rows, cols, stride int, dst, x, shift, scale *byte){scaleRowsF32AVX512, scaleReluRowsF32AVX512},
	normGrad: normGradRowsF32AVX512,
	momentum: [2]func(n int, w, m, g, k *byte){momentumF32AVX512, nesterovF32AVX512},
	keras:    [2]func(n int, w, m, g, k *byte){kerasMomentumF32AVX512, kerasNesterovF32AVX512},
	rmsprop:  rmspropF32AVX512, centered: rmspropCenteredF32AVX512, ftrl: ftrlF32AVX512,
	adam:    adamF32AVX2,
	adagrad: adagradF32AVX512,
	pixels: pixelSet{max: maxWindowF32AVX512, mulAdd: mulAddPixelsF32AVX512, dot: dotPixelsF32AVX512, route: routePixelsF32AVX512, routeFirst: routeFirstPixelsF32AVX512,
		copy: copyRowsF32AVX512, routeWindow: routeWindowF32AVX512},
	winograd: [transformCount]func(t *byte){
		inputTransform:      winogradInputF32AVX512,
		outputTransform:     winogradOutputF32AVX512,
		gradTransform:       winogradGradF32AVX512,
		filterTransform:     winogradFilterF32AVX512,
		filterGradTransform: winogradFilterGradF32AVX512,
	},
}

var simdF64AVX2 = simdSet{
	binary: [binaryCount]func(n int, dst, a, b *byte){
		Add:               addF64AVX2,
		Sub:               subF64AVX2,
		Mul:               mulF64AVX2,
		Div:               divF64AVX2,
		Max:               maxF64AVX2,
		Min:               minF64AVX2,
		SquaredDifference: squaredDifferenceF64AVX2,
		ReluGrad:          reluGradF64AVX2,
		Relu6Grad:         relu6GradF64AVX2,
		SigmoidGrad:       sigmoidGradF64AVX2,
		TanhGrad:          tanhGradF64AVX2,
	},
	unary: [unaryCount]func(n int, dst, a *byte){
		Neg:        negF64AVX2,
		Abs:        absF64AVX2,
		Square:     squareF64AVX2,
		Sqrt:       sqrtF64AVX2,
		Rsqrt:      rsqrtF64AVX2,
		Reciprocal: reciprocalF64AVX2,
		Round:      roundF64AVX2,
		Relu:       reluF64AVX2,
		Relu6:      relu6F64AVX2,
	},
	scalar: [binaryCount]func(n int, dst, a *byte, k uint64){
		Add: addScalarF64AVX2,
		Sub: subScalarF64AVX2,
		Mul: mulScalarF64AVX2,
		Div: divScalarF64AVX2,
		Max: maxScalarF64AVX2,
		Min: minScalarF64AVX2,
	},
	axpy: axpyF64AVX2, sum: sumF64AVX2, dot: dotF64AVX2, dotRows: dotRowsF64AVX2, maxOf: maxOfF64AVX2, minOf: minOfF64AVX2,
	bias:     [2]func(rows, cols, stride int, dst, x, shift *byte){biasRowsF64AVX2, biasReluRowsF64AVX2},
	scale:    [2]func(rows, cols, stride int, dst, x, shift, scale *byte){scaleRowsF64AVX2, scaleReluRowsF64AVX2},
	normGrad: normGradRowsF64AVX2,
	momentum: [2]func(n int, w, m, g, k *byte){momentumF64AVX2, nesterovF64AVX2},
	keras:    [2]func(n int, w, m, g, k *byte){kerasMomentumF64AVX2, kerasNesterovF64AVX2},
	rmsprop:  rmspropF64AVX2, centered: rmspropCenteredF64AVX2, ftrl: ftrlF64AVX2,
	adam:    adamF64AVX2,
	adagrad: adagradF64AVX2,
	pixels: pixelSet{max: maxWindowF64AVX2, mulAdd: mulAddPixelsF64AVX2, dot: dotPixelsF64AVX2, route: routePixelsF64AVX2, routeFirst: routeFirstPixelsF64AVX2,
		copy: copyRowsF64AVX2, routeWindow: routeWindowF64AVX2},
}

var simdF64AVX512 = simdSet{
	binary: [binaryCount]func(n int, dst, a, b *byte){
		Add:               addF64AVX512,
		Sub:               subF64AVX512,
		Mul:               mulF64AVX512,
		Div:               divF64AVX512,
		Max:               maxF64AVX512,
		Min:               minF64AVX512,
		SquaredDifference: squaredDifferenceF64AVX512,
		ReluGrad:          reluGradF64AVX512,
		Relu6Grad:         relu6GradF64AVX512,
		SigmoidGrad:       sigmoidGradF64AVX512,
		TanhGrad:          tanhGradF64AVX512,
	},
	unary: [unaryCount]func(n int, dst, a *byte){
		Neg:        negF64AVX512,
		Abs:        absF64AVX512,
		Square:     squareF64AVX512,
		Sqrt:       sqrtF64AVX512,
		Rsqrt:      rsqrtF64AVX512,
		Reciprocal: reciprocalF64AVX512,
		Round:      roundF64AVX512,
		Relu:       reluF64AVX512,
		Relu6:      relu6F64AVX512,
	},
	scalar: [binaryCount]func(n int, dst, a *byte, k uint64){
		Add: addScalarF64AVX512,
		Sub: subScalarF64AVX512,
		Mul: mulScalarF64AVX512,
		Div: divScalarF64AVX512,
		Max: maxScalarF64AVX512,
		Min: minScalarF64AVX512,
	},
	axpy: axpyF64AVX512, sum: sumF64AVX512, dot: dotF64AVX512, dotRows: dotRowsF64AVX512, maxOf: maxOfF64AVX512, minOf: minOfF64AVX512,
	bias:     [2]func(rows, cols, stride int, dst, x, shift *byte){biasRowsF64AVX512, biasReluRowsF64AVX512},
	scale:    [2]func(rows, cols, stride int, dst, x, shift, scale *byte){scaleRowsF64AVX512, scaleReluRowsF64AVX512},
	normGrad: normGradRowsF64AVX512,
	momentum: [2]func(n int, w, m, g, k *byte){momentumF64AVX512, nesterovF64AVX512},
	keras:    [2]func(n int, w, m, g, k *byte){kerasMomentumF64AVX512, kerasNesterovF64AVX512},
	rmsprop:  rmspropF64AVX512, centered: rmspropCenteredF64AVX512, ftrl: ftrlF64AVX512,
	adam:    adamF64AVX2,
	adagrad: adagradF64AVX512,
	pixels: pixelSet{max: maxWindowF64AVX512, mulAdd: mulAddPixelsF64AVX512, dot: dotPixelsF64AVX512, route: routePixelsF64AVX512, routeFirst: routeFirstPixelsF64AVX512,
		copy: copyRowsF64AVX512, routeWindow: routeWindowF64AVX512},
}

// wideDivider reports whether 512-bit square root and division are at least as fast per element as 256-bit ones. On Zen 4 they
// are not: Adam takes 1.3 times as long with them. On Zen 5 it takes 0.55 times as long. The instruction sets distinguish the
// two.
func wideDivider() bool { return cpu.X86.HasAVXVNNI }

func init() {
	if wideDivider() {
		simdF32AVX512.adam, simdF64AVX512.adam = adamF32AVX512, adamF64AVX512
	}
	simdF32AVX2.columns.sum, simdF32AVX2.columns.centered, simdF32AVX2.columns.dot = colSumF32AVX2, colCenteredF32AVX2, colDotF32AVX2
	simdF32AVX512.columns.sum, simdF32AVX512.columns.centered, simdF32AVX512.columns.dot = colSumF32AVX512, colCenteredF32AVX512, colDotF32AVX512
	simdF64AVX2.columns.sum, simdF64AVX2.columns.centered, simdF64AVX2.columns.dot = colSumF64AVX2, colCenteredF64AVX2, colDotF64AVX2
	simdF64AVX512.columns.sum, simdF64AVX512.columns.centered, simdF64AVX512.columns.dot = colSumF64AVX512, colCenteredF64AVX512, colDotF64AVX512
}
