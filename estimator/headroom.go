package estimator

import "github.com/goestimator/goestimator/models"

// headroom decides when a program that was built for a batch of many values, or for a long
// example, is built again for less: an RNN runs all steps of its capacity. It counts steps
// and not time, so that a run can be repeated.
type headroom struct {
	least  raggedSizes // of the first program
	window int         // steps between checks; doubled each time that it was wrong
	steps  int         // since the last check
	shrunk bool        // and the capacity sufficed since then
}

// firstWindow is in steps; building a program again takes as long as some ten to a hundred.
const firstWindow = 64

// after returns the new sizes for the program of these feeds after a step within its
// capacity, nil for no change.
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

// grown records that the capacity was too small.
func (r *headroom) grown() {
	if r.shrunk {
		r.window *= 2
	}
	r.steps, r.shrunk = 0, false
}
