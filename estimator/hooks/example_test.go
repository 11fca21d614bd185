package hooks_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/estimator/hooks"
)

// countdown is a user's hook: it embeds Base and implements only the methods it needs.
type countdown struct {
	hooks.Base
	left int
}

func (h *countdown) AfterRun(_ context.Context, r hooks.Run) error {
	if h.left--; h.left == 0 {
		r.RequestStop("countdown")
	}
	return nil
}

func ExampleHook() {
	l := newLoop()
	hs := hooks.Sort([]hooks.Hook{&countdown{left: 3}, hooks.NewStopAtStep(10)})
	for ; l.reason == ""; l.step++ {
		for _, h := range hs {
			if err := h.AfterRun(context.Background(), l); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println(l.step, l.reason)
	// Output: 3 countdown
}
