package estimator

import "github.com/goestimator/goestimator/models"

// headroom decides when a program that was built for a batch of many values, or for a
// long example, is to be built for less again: an RNN goes along all steps that there is room
// for. It counts steps and not time, so that a run can be repeated.
type headroom struct {
	least  raggedSizes // of the first program
	window int         // steps until it looks; twice as many each time that it was wrong
	steps  int         // since it looked
	shrunk bool        // and there was room for all since
}

// firstWindow is in steps; building a program again takes as long as some ten to a hundred.
const firstWindow = 64

// after returns the sizes that the program of those feeds shall have after a step for which
// there was room, nil for those it has.
func (r *headroom) after(feeds []fed) raggedSizes {
	r.window = max(r.window, firstWindow)
	if r.steps++; r.steps < r.window {
		return nil
	}
	r.steps = 0
	less, worth := raggedSizes{}.raise(r.least), false
	for _, f := range feeds {
		if f.ragged == nil {
			continue
		}
		used, has := f.ragged.most, models.RaggedSize{Capacity: f.ragged.Capacity, Length: f.ragged.Length}
		f.ragged.most = models.RaggedSize{}
		less = less.raise(raggedSizes{f.ragged.Name: used})
		least := less[f.ragged.Name]
		worth = worth || 2*least.Length <= has.Length || 4*least.Capacity <= has.Capacity
	}
	if !worth {
		return nil
	}
	r.shrunk = true
	return less
}

// grown tells that there was too little room.
func (r *headroom) grown() {
	if r.shrunk {
		r.window *= 2
	}
	r.steps, r.shrunk = 0, false
}
