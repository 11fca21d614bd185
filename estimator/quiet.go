package estimator

import "github.com/goestimator/goestimator/internal/distribute"

// mostQuiet is how many steps may follow each other that nobody looks at: guards see a NaN no later.
const mostQuiet = 99

// quietSteps decides of which steps nobody reads anything, so that a GPU need not be waited for.
type quietSteps struct {
	never bool // the caller may read each
	made  int  // since one that was read
}

// next reports whether the step that comes is quiet. Last says that no batch follows.
func (q *quietSteps) next(l *hookedLoop, last bool) bool {
	e, ok := l.session.stepper.(distribute.Enqueuer)
	if q.never || last || l.progress.reason != "" || q.made >= mostQuiet || !ok || !e.Enqueues() || l.reads() {
		q.made = 0
		return false
	}
	q.made++
	return true
}
