package kernels

import (
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// Norm is a batch normalization of X [Rows, Cols]. All vectors have Cols elements.
type Norm struct {
	Y, X        driver.Ptr
	Gamma, Beta driver.Ptr
	Mean        driver.Ptr // training: written, the batch's; inference: read
	Variance    driver.Ptr // likewise, without Bessel's correction
	Add         driver.Ptr // a side input like X, or 0
	Scratch     driver.Ptr // ScratchBytes of memory
	Rows, Cols  int
	Epsilon     float32
	Relu        bool
	Half        bool // X, Y and Add are bfloat16; else float32

	// Training: the moving averages, (1-Factor)*old + Factor*new; a Factor of 1 reads no old values.
	MeanOld, VarianceOld, MeanNew, VarianceNew driver.Ptr
	Factor                                     float32
}

func (n Norm) mean() Reduction {
	return Reduction{Op: host.ReduceMean, Dst: n.Mean, X: n.X, Outer: 1, N: n.Rows, Inner: n.Cols, Scratch: n.parts(), XHalf: n.Half}
}

// Scratch has the scale, the shift, then parts of sums.
func (n Norm) scale() driver.Ptr { return n.Scratch }
func (n Norm) shift() driver.Ptr { return n.Scratch + driver.Ptr(4*n.Cols) }
func (n Norm) parts() driver.Ptr { return n.Scratch + driver.Ptr(8*n.Cols) }

// ScratchBytes is the memory that the calls need besides.
func (n Norm) ScratchBytes() int {
	return 8*n.Cols + max(n.mean().ScratchBytes(), 4*n.Cols*columnParts(n.Rows, n.Cols))
}

// columnParts returns the number of parts of the sums over rows.
func columnParts(rows, cols int) int {
	return Reduction{Outer: 1, N: rows, Inner: max(cols, 2)}.parts()
}

// tiles returns a launch of 32 x 8 blocks over columns, with parts of the rows.
func tiles(cols, parts int) (grid, block driver.Dim) {
	return driver.Dim{X: max(1, ceilDiv(cols, tileColumns)), Y: parts}, driver.Dim{X: tileColumns, Y: tileRows}
}

// Train normalizes by the batch's own statistics.
func (n Norm) Train() []Call {
	parts := columnParts(n.Rows, n.Cols)
	grid, block := tiles(n.Cols, parts)
	calls := append(n.mean().Calls(), call("norm_centered"+half(n.Half), grid, block, n.parts(), n.X, n.Mean, n.Rows, n.Cols))
	grid, block = over(n.Cols)
	calls = append(calls, call("norm_finish", grid, block, n.Variance, n.scale(), n.shift(), n.MeanNew, n.VarianceNew, n.parts(), n.Mean,
		n.Gamma, n.Beta, n.MeanOld, n.VarianceOld, n.Rows, n.Cols, int32(parts), n.Epsilon, n.Factor))
	return append(calls, n.apply())
}

// Infer normalizes by fixed statistics.
func (n Norm) Infer() []Call {
	grid, block := over(n.Cols)
	return []Call{call("norm_fold", grid, block, n.scale(), n.shift(), n.Gamma, n.Beta, n.Mean, n.Variance, n.Cols, n.Epsilon), n.apply()}
}

func (n Norm) apply() Call {
	suffix, each := packed(n.Half, n.Cols)
	grid, block := over(n.Rows * n.Cols / each)
	return call("scale_shift"+suffix, grid, block, n.Y, n.X, n.scale(), n.shift(), n.Add, n.Rows*n.Cols, n.Cols, flag(n.Relu))
}

// NormGrad is the gradient of a batch normalization.
type NormGrad struct {
	DX, DGamma, DBeta     driver.Ptr
	DY, X                 driver.Ptr
	Gamma, Mean, Variance driver.Ptr
	Scratch               driver.Ptr // ScratchBytes of memory
	Rows, Cols            int
	Epsilon               float32
	Training              bool // by the batch's own statistics
	Half                  bool // DX, DY and X are bfloat16; else float32
}

// ScratchBytes is the memory that the calls need besides.
func (n NormGrad) ScratchBytes() int { return 4 * n.Cols * (3 + 2*columnParts(n.Rows, n.Cols)) }

// Calls are the launches.
func (n NormGrad) Calls() []Call {
	parts := columnParts(n.Rows, n.Cols)
	coef := n.Scratch
	sums := coef + driver.Ptr(12*n.Cols)
	dots := sums + driver.Ptr(4*n.Cols*parts)
	tileGrid, tileBlock := tiles(n.Cols, parts)
	colGrid, colBlock := over(n.Cols)
	suffix, each := packed(n.Half, n.Cols)
	grid, block := over(n.Rows * n.Cols / each)
	input := call("norm_grad_input"+suffix, grid, block, n.DX, n.DY, n.X, coef, n.Rows*n.Cols, n.Cols)
	if !n.Training { // x, which may be infinite, is not used
		input = call("scale_shift"+suffix, grid, block, n.DX, n.DY, coef, coef+driver.Ptr(8*n.Cols), driver.Ptr(0), n.Rows*n.Cols, n.Cols, int32(0))
	}
	return []Call{
		call("norm_grad_sums"+half(n.Half), tileGrid, tileBlock, sums, dots, n.DY, n.X, n.Mean, n.Rows, n.Cols),
		call("norm_grad_finish", colGrid, colBlock, n.DGamma, n.DBeta, coef, sums, dots, n.Gamma, n.Mean, n.Variance, n.Rows, n.Cols, int32(parts), n.Epsilon, flag(n.Training)),
		input,
	}
}

func half(is bool) string {
	if is {
		return "_bf16"
	}
	return ""
}

// packed returns the suffix of a kernel's name, and the elements of a row that the kernel does at once.
func packed(isHalf bool, cols int) (suffix string, each int) {
	switch {
	case isHalf && cols%8 == 0:
		return "_bf16_8", 8
	case !isHalf && cols%4 == 0:
		return "_4", 4
	}
	return half(isHalf), 1
}

// normKernels describes src/norm.cu.
func normKernels() []Kernel {
	all := []Kernel{{"norm_finish", "ppppppppppplliff"}, {"norm_fold", "pppppplf"}, {"norm_grad_finish", "ppppppppllifi"}}
	for _, t := range []string{"", "_bf16"} {
		all = append(all, Kernel{"norm_centered" + t, "pppll"}, Kernel{"norm_grad_sums" + t, "pppppll"})
	}
	for _, t := range []string{"", "_4", "_bf16", "_bf16_8"} {
		all = append(all, Kernel{"scale_shift" + t, "ppppplli"}, Kernel{"norm_grad_input" + t, "ppppll"})
	}
	return all
}
