package estimator

import (
	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/hooks"
)

// mostQuiet is how many steps may follow each other that nobody looks at: guards see a NaN no later.
const mostQuiet = 99

// quietSteps decides of which steps nobody reads anything, so that a GPU need not be waited for.
type quietSteps struct {
	never bool // the caller may read each
	made  int  // since one that was read
}

// next reports whether the step that comes is quiet. Last tells that no batch follows.
func (q *quietSteps) next(t *training, last bool) bool {
	e, ok := t.stepper.(distribute.Enqueuer)
	if q.never || last || t.reason != "" || q.made >= mostQuiet || !ok || !e.Enqueues() || t.reads() {
		q.made = 0
		return false
	}
	q.made++
	return true
}

// reads reports whether a hook reads tensors of the step that comes.
func (s *session) reads() bool {
	for _, h := range s.hooks {
		if sel, ok := h.(hooks.Selective); ok {
			if sel.Reads(s.self) {
				return true
			}
			continue
		}
		if _, ok := h.(hooks.Tensorless); !ok {
			return true
		}
	}
	return false
}
