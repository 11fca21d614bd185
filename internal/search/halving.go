package search

import (
	"errors"
	"math"
)

var errHalving = errors.New("sweep.algorithm halving divides train.max_steps among its rounds: set train.max_steps")

// rounds are the steps until which each round of halving trains. There are as many as leave less than two reductions of trials in the last.
func (s *Search) rounds() []int64 {
	n := 1
	for left := s.spec.Trials; left >= s.spec.Reduction; left /= s.spec.Reduction {
		n++
	}
	steps := make([]int64, 0, n)
	for i := range n {
		part := math.Pow(float64(s.spec.Reduction), float64(n-1-i))
		steps = append(steps, max(1, int64(math.Round(float64(s.maxSteps)/part))))
	}
	return steps
}

// halved is the next trial of successive halving: a round begins once the one before has ended, with the best of it. Where steps are so few that rounds
// have the same, a trial of the earlier round stands for both.
func (s *Search) halved() (Trial, bool) {
	members := make([]Trial, s.spec.Trials)
	for i := range members {
		members[i] = Trial{Number: i}
	}
	for _, steps := range s.rounds() {
		if len(members) == 0 { // all have failed
			break
		}
		var ended []Result
		for _, t := range members {
			if t.Steps = steps; s.running[t.key()] {
				continue
			}
			r, done := s.done[t.key()]
			if done {
				ended = append(ended, r)
				continue
			}
			if t.Values == nil {
				t.Values = s.values(t.Number)
			}
			return t, true
		}
		if len(ended) < len(members) {
			return Trial{}, false
		}
		members = members[:0]
		for _, r := range s.ranked(ended)[:max(1, len(ended)/s.spec.Reduction)] {
			if _, ok := r.Got(); ok { // one that failed is not trained on
				members = append(members, Trial{Number: r.Number, Values: r.Values})
			}
		}
	}
	return Trial{}, false
}
