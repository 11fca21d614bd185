package estimator

import "github.com/goestimator/goestimator/internal/distribute"

// mostUnread is how many steps may follow each other that nobody looks at: guards see a NaN no later.
const mostUnread = 99

// unreadSteps decides which steps nobody reads, so that a GPU need not be waited for.
type unreadSteps struct {
	never bool // the caller may read each
	made  int  // since one that was read
}

// next reports whether nobody reads the step that comes. Last says that no batch follows.
func (q *unreadSteps) next(l *hookedLoop, last bool) bool {
	e, ok := l.session.stepper.(distribute.Enqueuer)
	if q.never || last || l.progress.reason != "" || q.made >= mostUnread || !ok || !e.Enqueues() || l.reads() {
		q.made = 0
		return false
	}
	q.made++
	return true
}
