package config

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/platform/violation"
)

var inf = math.Inf(1)

// hyper is one hyper-parameter that was given, with its bounds.
type hyper struct {
	name  string
	value *float64
	low   float64
	high  float64
	open  bool // high itself is not allowed
}

func (h hyper) validate(vs *violation.List) {
	x := *h.value
	ok := x >= h.low && x <= h.high && !(h.open && x == h.high)
	bound := fmt.Sprintf("expected >= %g and <= %g", h.low, h.high)
	switch {
	case math.IsInf(h.high, 1):
		bound = fmt.Sprintf("expected >= %g", h.low)
	case math.IsInf(h.low, -1):
		bound = fmt.Sprintf("expected <= %g", h.high)
	case h.open:
		bound = fmt.Sprintf("expected >= %g and < %g", h.low, h.high)
	}
	vs.Require(ok, "optimizer."+h.name, x, bound)
}
