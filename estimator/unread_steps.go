package estimator

import "github.com/goestimator/goestimator/internal/distribute"

// mostUnread bounds the number of consecutive unread steps, and so the delay until guards see a NaN.
const mostUnread = 99

// unreadSteps decides which steps are not read, so that a GPU need not be waited for.
type unreadSteps struct {
	never bool // the caller may read the values of each step
	made  int  // steps since the last one that was read
}

// next reports whether the next step is unread. last says that no batch follows.
func (q *unreadSteps) next(l *hookedLoop, last bool) bool {
	e, ok := l.session.stepper.(distribute.Enqueuer)
	if q.never || last || l.progress.reason != "" || q.made >= mostUnread || !ok || !e.Enqueues() || l.reads() {
		q.made = 0
		return false
	}
	q.made++
	return true
}
