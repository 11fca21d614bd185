package search

import (
	"math"
)

// bracket is one successive halving: its trials, numbered from first on, and the step until which each round trains.
type bracket struct {
	first, trials int
	steps         []int64
}

// brackets are the brackets of the search: one for halving, several for hyperband.
func (s *Search) brackets() []bracket {
	if s.spec.Algorithm == "halving" {
		n := 1
		for left := s.spec.Trials; left >= s.spec.Reduction; left /= s.spec.Reduction {
			n++
		}
		return []bracket{{0, s.spec.Trials, s.rounds(n)}}
	}
	// Li et al., "Hyperband", 2018: as many brackets as there are trials for; the cheapest one takes the remaining trials.
	most := 0
	for math.Pow(float64(s.spec.Reduction), float64(most+1)) <= float64(min(s.maxSteps, maxTrials)) && hyperbandTrials(most+1, s.spec.Reduction) <= s.spec.Trials {
		most++
	}
	var out []bracket
	next, left := 0, s.spec.Trials-hyperbandTrials(most, s.spec.Reduction)
	for k := most; k >= 0; k-- {
		n := bracketTrials(k, most, s.spec.Reduction) + left
		out = append(out, bracket{next, n, s.rounds(k + 1)})
		next, left = next+n, 0
	}
	return out
}

// bracketTrials is how many trials the bracket with k+1 rounds begins with, if the largest has most+1 rounds.
func bracketTrials(k, most, reduction int) int {
	n := most + 1
	for range k {
		n *= reduction
	}
	return (n + k) / (k + 1)
}

func hyperbandTrials(most, reduction int) int {
	sum := 0
	for k := range most + 1 {
		sum += bracketTrials(k, most, reduction)
	}
	return sum
}

// rounds are the steps until which each of n rounds trains.
func (s *Search) rounds(n int) []int64 {
	steps := make([]int64, 0, n)
	for i := range n {
		part := math.Pow(float64(s.spec.Reduction), float64(n-1-i))
		steps = append(steps, max(1, int64(math.Round(float64(s.maxSteps)/part))))
	}
	return steps
}

// halved is the next trial of the first bracket that has one now.
func (s *Search) halved() (Trial, bool) {
	for _, b := range s.brackets() {
		if t, ok := s.inBracket(b); ok {
			return t, true
		}
	}
	return Trial{}, false
}

// inBracket is the next trial of a successive halving: a round begins with the best trials of the previous one, once that has ended. If
// there are so few steps that rounds have the same number, a trial of the earlier round counts for both.
func (s *Search) inBracket(b bracket) (Trial, bool) {
	members := make([]Trial, b.trials)
	for i := range members {
		members[i] = Trial{Number: b.first + i}
	}
	for _, steps := range b.steps {
		if len(members) == 0 { // all trials have failed
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
			if _, ok := r.Got(); ok { // a failed trial is not trained further
				members = append(members, Trial{Number: r.Number, Values: r.Values})
			}
		}
	}
	return Trial{}, false
}
