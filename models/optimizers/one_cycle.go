package optimizers

import (
	"math"

	"github.com/goestimator/goestimator/models/expr"
)

// OneCycle grows along half a cosine from Max/Start to Max, which it reaches after the fraction Rise of Steps. It then
// falls along another half cosine to Max/(Start*End) at the last step, where it stays (Smith and Topin 2017;
// torch.optim.lr_scheduler.OneCycleLR).
type OneCycle struct {
	Max        float64
	Steps      int64   // of the cycle, > 1
	Rise       float64 // in (0, 1); PyTorch's pct_start, 0.3 there
	Start, End float64 // > 0; PyTorch's div_factor and final_div_factor, 25 and 1e4 there
}

// At returns the rate at a step.
func (s OneCycle) At(step expr.Expr) expr.Expr {
	top, last := s.Rise*float64(s.Steps)-1, float64(s.Steps-1)
	first := s.Max / s.Start
	rising := between(step.Div(expr.Number(top)), first, s.Max)
	falling := between(step.Min(expr.Number(last)).Plus(-top).Times(1/(last-top)), s.Max, first/s.End)
	return expr.WhenLess(expr.Number(top), step, falling, rising)
}

// between goes from one number to another along half a cosine as x goes from 0 to 1.
func between(x expr.Expr, from, to float64) expr.Expr {
	return x.Times(math.Pi).Cos().Plus(1).Times((from - to) / 2).Plus(to)
}

// Sequence is one schedule after another: the first until step Boundaries[0], where the second begins with its step 0,
// and so on (optax.join_schedules). It is NaN unless there is one more schedule than boundaries.
type Sequence struct {
	Schedules  []Schedule
	Boundaries []int64 // increasing
}

// At returns the rate at a step.
func (s Sequence) At(step expr.Expr) expr.Expr {
	if len(s.Schedules) != len(s.Boundaries)+1 {
		return expr.Number(math.NaN())
	}
	rate := s.Schedules[0].At(step)
	for i, b := range s.Boundaries {
		begin := expr.Number(float64(b))
		// A schedule is also evaluated before its beginning, although it is not used there.
		rate = expr.WhenLess(step, begin, rate, s.Schedules[i+1].At(step.Sub(begin).Max(expr.Number(0))))
	}
	return rate
}

// Scaled is a schedule times another one, such as a warm-up.
type Scaled struct{ Schedule, By Schedule }

// At returns the rate at a step.
func (s Scaled) At(step expr.Expr) expr.Expr { return s.Schedule.At(step).Mul(s.By.At(step)) }
