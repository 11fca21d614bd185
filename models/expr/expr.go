package expr

import "math"

// Expr is a float64 number, or an expression of inputs. The zero value is the number 0.
// The result of an operation on scalars is a scalar. A scalar is broadcast to the shape
// of a tensor; two tensors must have the same shape.
type Expr struct{ n *node }

// node is an operation, an input or a number; it is never changed.
type node struct {
	op    string
	args  []Expr
	name  string  // of an input
	value float64 // of a number
}

// Ops that are not TensorFlow's elementwise ops.
const (
	opNumber   = "Const"
	opInput    = "Input"
	opWhenLess = "WhenLess" // operands x, y, then, otherwise: then if x < y
	opNorm     = "Norm"     // the L2 norm of all elements of a tensor
)

// Number returns a number.
func Number(v float64) Expr { return Expr{&node{op: opNumber, value: v}} }

// Input returns an input by its name.
func Input(name string) Expr { return Expr{&node{op: opInput, name: name}} }

// Value returns a number's value; ok is false for other expressions.
func (x Expr) Value() (v float64, ok bool) {
	switch {
	case x.n == nil:
		return 0, true
	case x.n.op == opNumber:
		return x.n.value, true
	}
	return 0, false
}

// unary holds the operations on one operand, by TensorFlow's names.
var unary = map[string]func(float64) float64{
	"Neg": func(x float64) float64 { return -x }, "Abs": math.Abs, "Sign": sign,
	"Square": func(x float64) float64 { return x * x }, "Sqrt": math.Sqrt,
	"Exp": math.Exp, "Log": math.Log, "Sin": math.Sin, "Cos": math.Cos, "Tanh": math.Tanh, "Floor": math.Floor,
	opNorm: math.Abs,
}

// binary holds the operations on two operands, by TensorFlow's names.
var binary = map[string]func(x, y float64) float64{
	"AddV2":   func(x, y float64) float64 { return x + y },
	"Sub":     func(x, y float64) float64 { return x - y },
	"Mul":     func(x, y float64) float64 { return x * y },
	"RealDiv": func(x, y float64) float64 { return x / y },
	"Minimum": math.Min, "Maximum": math.Max, "Pow": math.Pow,
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func (x Expr) unary(op string) Expr {
	if v, ok := x.Value(); ok {
		return Number(unary[op](v))
	}
	return Expr{&node{op: op, args: []Expr{x}}}
}

func (x Expr) binary(op string, y Expr) Expr {
	v, ok1 := x.Value()
	w, ok2 := y.Value()
	if ok1 && ok2 {
		return Number(binary[op](v, w))
	}
	return Expr{&node{op: op, args: []Expr{x, y}}}
}

// Neg returns -x.
func (x Expr) Neg() Expr { return x.unary("Neg") }

// Abs returns |x|.
func (x Expr) Abs() Expr { return x.unary("Abs") }

// Sign returns -1, 0 or 1.
func (x Expr) Sign() Expr { return x.unary("Sign") }

// Square returns x*x.
func (x Expr) Square() Expr { return x.unary("Square") }

// Sqrt returns the square root of x.
func (x Expr) Sqrt() Expr { return x.unary("Sqrt") }

// Exp returns e^x.
func (x Expr) Exp() Expr { return x.unary("Exp") }

// Log returns the natural logarithm of x.
func (x Expr) Log() Expr { return x.unary("Log") }

// Sin returns the sine of x.
func (x Expr) Sin() Expr { return x.unary("Sin") }

// Cos returns the cosine of x.
func (x Expr) Cos() Expr { return x.unary("Cos") }

// Tanh returns the hyperbolic tangent of x.
func (x Expr) Tanh() Expr { return x.unary("Tanh") }

// Floor returns the largest whole number that is not above x.
func (x Expr) Floor() Expr { return x.unary("Floor") }

// Norm returns the L2 norm of all elements of x, a scalar.
func (x Expr) Norm() Expr { return x.unary(opNorm) }

// Add returns x + y.
func (x Expr) Add(y Expr) Expr { return x.binary("AddV2", y) }

// Sub returns x - y.
func (x Expr) Sub(y Expr) Expr { return x.binary("Sub", y) }

// Mul returns x * y.
func (x Expr) Mul(y Expr) Expr { return x.binary("Mul", y) }

// Div returns x / y.
func (x Expr) Div(y Expr) Expr { return x.binary("RealDiv", y) }

// Pow returns x^y.
func (x Expr) Pow(y Expr) Expr { return x.binary("Pow", y) }

// Min returns the smaller of x and y.
func (x Expr) Min(y Expr) Expr { return x.binary("Minimum", y) }

// Max returns the larger of x and y.
func (x Expr) Max(y Expr) Expr { return x.binary("Maximum", y) }

// Plus returns x + v.
func (x Expr) Plus(v float64) Expr { return x.Add(Number(v)) }

// Times returns x * v.
func (x Expr) Times(v float64) Expr { return x.Mul(Number(v)) }

// WhenLess returns then where x < y, else otherwise.
func WhenLess(x, y, then, otherwise Expr) Expr {
	v, ok1 := x.Value()
	w, ok2 := y.Value()
	if ok1 && ok2 {
		if v < w {
			return then
		}
		return otherwise
	}
	return Expr{&node{op: opWhenLess, args: []Expr{x, y, then, otherwise}}}
}
