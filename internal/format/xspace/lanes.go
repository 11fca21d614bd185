package xspace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
)

// maxLanes bounds the lanes of a line: nobody looks at more, and finding a lane takes time for each.
const maxLanes = 256

// lane is a line as shown: any two of its events are disjoint or nested.
type lane struct {
	name   string
	events []timeline.Event
	open   []time.Time // ends of the last event and of the events around it, the outermost first
	task   uint64      // task of the open events, or of the last ones
}

// takes reports whether e can follow the events of l. It may be nested only in events of its own task.
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

// lanes divides the events of a line among lanes: events of a task share a lane if they do not overlap. left is the number of events for
// which there was no lane. It sorts the events.
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
