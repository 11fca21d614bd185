package manager

import "github.com/goestimator/goestimator/internal/serving/servable"

// A Policy orders loading and unloading when versions change.
type Policy int

// The policies of TensorFlow Serving.
const (
	// AvailabilityPreserving loads a new version before it unloads the old one.
	AvailabilityPreserving Policy = iota
	// ResourcePreserving unloads first: never more in memory than is asked for.
	ResourcePreserving
)

// action is the next thing to do with one version of a model.
type action int

const (
	nothing action = iota
	load
	unload
)

// next chooses the next action and its version. versions belong to one model;
// ended ones among them are still aspired.
func (p Policy) next(versions []*entry) (action, *entry) {
	if p == ResourcePreserving {
		return nextResource(versions)
	}
	return nextAvailability(versions)
}

func nextAvailability(versions []*entry) (action, *entry) {
	var aspired, serving bool
	surplus := 0
	for _, e := range versions {
		ready := e.state == servable.Available
		switch {
		case e.aspired:
			aspired = true
			serving = serving || ready
		case ready:
			surplus++
		}
	}
	if !aspired || serving || surplus > 1 {
		if e := lowestSurplus(versions); e != nil {
			return unload, e
		}
	}
	return nextLoad(versions)
}

func nextResource(versions []*entry) (action, *entry) {
	if e := lowestSurplus(versions); e != nil {
		return unload, e
	}
	for _, e := range versions {
		if !e.aspired && e.state != servable.End {
			return nothing, nil // until it is gone
		}
	}
	return nextLoad(versions)
}

// lowestSurplus is the oldest available version that is not aspired.
func lowestSurplus(versions []*entry) *entry {
	var low *entry
	for _, e := range versions {
		if !e.aspired && e.state == servable.Available && (low == nil || e.id.Version < low.id.Version) {
			low = e
		}
	}
	return low
}

// nextLoad loads the newest aspired version whose load has not begun.
func nextLoad(versions []*entry) (action, *entry) {
	var high *entry
	for _, e := range versions {
		if e.aspired && e.state == servable.Start && (high == nil || e.id.Version > high.id.Version) {
			high = e
		}
	}
	if high == nil {
		return nothing, nil
	}
	return load, high
}
