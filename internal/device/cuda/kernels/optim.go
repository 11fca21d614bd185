package kernels

import "github.com/goestimator/goestimator/internal/device/cuda/driver"

// Rule names an optimizer's update, with its slots.
type Rule string

// The rules of internal/kernels' functions of the same names.
const (
	SGD           Rule = "sgd"
	Momentum      Rule = "momentum"       // slot 0: momentum; flag: Nesterov
	KerasMomentum Rule = "keras_momentum" // likewise
	Adam          Rule = "adam"           // slots m, v; flag: Nesterov
	Adagrad       Rule = "adagrad"        // slot 0: accumulator
	RMSProp       Rule = "rmsprop"        // slots: mean square, momentum or 0, mean gradient (centered) or 0; flag: epsilon outside of the root
	Ftrl          Rule = "ftrl"           // slots: accumulator, linear
)

// ConstantBytes is the size of a rule's constants in memory of the GPU: 8 float32.
const ConstantBytes = 32

// Constants are what a rule reads at each step, as Upload puts it into memory of the GPU. The last, which multiplies the
// gradient, is 1 where there is no loss scaling.
type Constants [8]float32

// ConstantsOf puts a rule's numbers in their places: see src/optim.cu for what each rule takes.
func ConstantsOf(gradientBy float32, k ...float32) (c Constants) {
	copy(c[:7], k)
	c[7] = gradientBy
	return c
}

// Update is one update of a variable of N elements.
type Update struct {
	Rule      Rule
	Var, Grad driver.Ptr
	Slots     [3]driver.Ptr
	Constants driver.Ptr
	N         int
	Flag      bool
}

// Call is the launch.
func (u Update) Call() Call {
	grid, block := over(u.N)
	return call("update_"+string(u.Rule), grid, block, u.Var, u.Grad, u.Slots[0], u.Slots[1], u.Slots[2], u.Constants, u.N, flag(u.Flag))
}
