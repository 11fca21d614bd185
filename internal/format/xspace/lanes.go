package xspace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
)

// maxLanes bounds the lanes of a line: nobody looks at more, and finding one takes time for each.
const maxLanes = 256

// lane is a line as it is shown: of its events any two lie apart, or one within the other.
type lane struct {
	name   string
	events []timeline.Event
	open   []time.Time // ends of the events that the last one lies within, and its own, the outermost first
	task   uint64      // of the events that are open, or were at last
}

// takes reports whether e can be put behind the events of l, which is of the same task where it lies within one.
func (l *lane) takes(e timeline.Event) bool {
	for len(l.open) > 0 && !l.open[len(l.open)-1].After(e.Start) {
		l.open = l.open[:len(l.open)-1]
	}
	if len(l.open) == 0 {
		return true
	}
	return e.Task != 0 && e.Task == l.task && !l.open[len(l.open)-1].Before(e.Start.Add(e.Duration))
}

func (l *lane) put(e timeline.Event) {
	l.events, l.open, l.task = append(l.events, e), append(l.open, e.Start.Add(e.Duration)), e.Task
}

// lanes divides the events of a line among lanes: those of a task share one where they do not overlap. left counts those for which there
// was none. The events are sorted.
func lanes(name timeline.Line, events []timeline.Event) (all []*lane, left int) {
	slices.SortStableFunc(events, func(a, b timeline.Event) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	for _, e := range events {
		i := slices.IndexFunc(all, func(l *lane) bool { return e.Task != 0 && l.task == e.Task && l.takes(e) })
		if i < 0 {
			i = slices.IndexFunc(all, func(l *lane) bool { return l.takes(e) })
		}
		if i < 0 {
			if i = len(all); i >= maxLanes {
				left++
				continue
			}
			all = append(all, &lane{name: fmt.Sprintf("%s %d", name, i+1)})
		}
		all[i].put(e)
	}
	return all, left
}
