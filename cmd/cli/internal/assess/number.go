package assess

import (
	"encoding/json"
	"math"
)

// Number is a measurement. A value that is not finite, such as the area under a curve with only one class, is null in JSON.
type Number float64

// MarshalJSON writes a number or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Finite reports whether there is a measurement.
func (n Number) Finite() bool { return finite(float64(n)) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// none is the value of a measurement that does not exist.
var none = math.NaN()

// per is a/b; none if b is 0.
func per(a, b float64) float64 {
	if b == 0 {
		return none
	}
	return a / b
}

// square is x².
func square(x float64) float64 { return x * x }
