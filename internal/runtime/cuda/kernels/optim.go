package kernels

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

// Rule names an optimizer's update rule.
type Rule string

// The rules, with their scalars and slots, are the functions of the same names in internal/runtime/kernels.
const (
	SGD           Rule = "sgd"            // lr
	Momentum      Rule = "momentum"       // lr, momentum; slot 0: momentum; flag: Nesterov
	KerasMomentum Rule = "keras_momentum" // likewise
	Adam          Rule = "adam"           // beta1^t, beta2^t, lr, beta1, beta2, epsilon; slots m, v; flag: Nesterov
	Adagrad       Rule = "adagrad"        // lr, epsilon or 0; slot 0: accumulator
	RMSProp       Rule = "rmsprop"        // lr, rho, momentum, epsilon; slots: mean square, momentum, mean gradient (centered) or 0
	Ftrl          Rule = "ftrl"           // lr, l1, l2, shrinkage of l2 or 0, power of lr; slots: accumulator, linear
)

// Update is an update of a float32 variable and its slots, by a gradient for all of it or for some rows.
type Update struct {
	Rule    Rule
	Var     driver.Ptr
	Slots   [3]driver.Ptr
	Scalars [6]driver.Ptr // float32 each, in memory of the GPU
	Fault   driver.Ptr    // if this record has a fault, nothing is done; 0 for none
	Flag    bool
}

// Dense returns the launch that updates n elements by n elements of a gradient.
func (u Update) Dense(gradient driver.Ptr, n int) Call {
	grid, block := over(n)
	a := u.Scalars
	return call("update_"+string(u.Rule), grid, block, u.Var, u.Slots[0], u.Slots[1], u.Slots[2], gradient,
		a[0], a[1], a[2], a[3], a[4], a[5], u.Fault, n, flag(u.Flag))
}

// Dense is an update of N elements by N elements of a gradient.
type Dense struct {
	Update
	Gradient driver.Ptr
	N        int
}

// maxTogether is the most updates of one launch.
const maxTogether = 8

// Calls returns the launches of consecutive updates. Neighbours with the same rule and scalars are done together if none
// writes what another reads or writes.
func Calls(all []Dense) (calls []Call) {
	for len(all) > 0 {
		n := 1
		for n < min(len(all), maxTogether) && all[n].joins(all[:n]) {
			n++
		}
		if n == 1 {
			calls = append(calls, all[0].Dense(all[0].Gradient, all[0].N))
		} else {
			calls = append(calls, together(all[:n]))
		}
		all = all[n:]
	}
	return calls
}

// joins reports whether an update can be done in the same launch as others.
func (d Dense) joins(others []Dense) bool {
	first := others[0]
	if d.Rule != first.Rule || d.Scalars != first.Scalars || d.Fault != first.Fault || d.Flag != first.Flag || d.Slots[2] != 0 || first.Slots[2] != 0 {
		return false
	}
	for _, o := range others {
		if d.touches(o) || o.touches(d) {
			return false
		}
	}
	return true
}

// touches reports whether d writes what o reads or writes.
func (d Dense) touches(o Dense) bool {
	for _, p := range []driver.Ptr{d.Var, d.Slots[0], d.Slots[1]} {
		if p != 0 && (p == o.Var || p == o.Slots[0] || p == o.Slots[1] || p == o.Gradient || slices.Contains(o.Scalars[:], p)) {
			return true
		}
	}
	return false
}

func together(all []Dense) Call {
	var args []any
	most := 0
	for i := range maxTogether {
		var d Dense
		if i < len(all) {
			d = all[i]
		}
		most = max(most, d.N)
		args = append(args, d.Var, d.Slots[0], d.Slots[1], d.Gradient, d.N)
	}
	for _, a := range all[0].Scalars {
		args = append(args, a)
	}
	grid, block := over(most)
	grid.Y = len(all)
	return call("update_many_"+string(all[0].Rule), grid, block, append(args, all[0].Fault, flag(all[0].Flag))...)
}

// Rows updates the rows that runs name by the runs' sums.
func (u Update) Rows(r Runs) Call {
	grid, block := over(r.N * r.Cols)
	a := u.Scalars
	return call("update_rows_"+string(u.Rule), grid, block, u.Var, u.Slots[0], u.Slots[1], u.Slots[2], r.Parts, r.Keys,
		a[0], a[1], a[2], a[3], a[4], a[5], u.Fault, r.N, r.Rows, r.Cols, flag(u.Flag))
}

// updateKernels describes src/optim.cu.
func updateKernels() (all []Kernel) {
	for _, r := range []Rule{SGD, Momentum, KerasMomentum, Adam, Adagrad, RMSProp, Ftrl} {
		all = append(all, Kernel{"update_many_" + string(r), strings.Repeat("ppppl", maxTogether) + "pppppp" + "pi"})
		all = append(all, Kernel{"update_" + string(r), "pppp" + "p" + "pppppp" + "pli"}, Kernel{"update_rows_" + string(r), "pppp" + "pp" + "pppppp" + "pllli"})
	}
	all = append(all, Kernel{"guard", "ppp"})
	for _, t := range []string{"u8", "i32", "i64", "f32", "f64"} {
		all = append(all, Kernel{"assign_" + t, "pppli"})
	}
	return all
}

// Guard returns the launch that sets out to 0 if keep, a byte, is not 0 and there is no fault. Updates take out, an int64, in
// place of a fault record. If keep is 0, out stays as it is unless there is a fault.
func Guard(out, keep, fault driver.Ptr) Call {
	grid, block := over(1)
	return call("guard", grid, block, out, keep, fault)
}

// Assignment sets a variable of N elements to X, or adds X (By 1) or subtracts it (By -1).
type Assignment struct {
	Type   tensor.DType
	Var, X driver.Ptr
	Fault  driver.Ptr // as in Update
	N, By  int
}

// assigns has the kernels that can add.
var assigns = map[tensor.DType]string{tensor.Float32: "assign_f32", tensor.Float64: "assign_f64", tensor.Int32: "assign_i32", tensor.Int64: "assign_i64"}

// CanAdd reports whether an Assignment of the type may have a By other than 0.
func CanAdd(d tensor.DType) bool { return assigns[d] != "" }

// Call is the launch.
func (a Assignment) Call() Call {
	name, n := assigns[a.Type], a.N
	if name == "" { // bytes
		name, n = "assign_u8", a.N*a.Type.Size()
	}
	grid, block := over(n)
	return call(name, grid, block, a.Var, a.X, a.Fault, n, int32(a.By))
}
