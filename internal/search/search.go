package search

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// Search chooses trials. It is for one goroutine.
type Search struct {
	spec     Spec
	maxSteps int64          // in the last round of halving
	first    map[string]any // values of the first trial; nil: chosen as for the others
	again    []Trial
	running  map[trialKey]bool
	done     map[trialKey]Result
	order    []trialKey // in which done was filled
	next     int        // number of the next new trial
}

// trialKey identifies a trial in one round.
type trialKey struct {
	number int
	steps  int64
}

func (t Trial) key() trialKey { return trialKey{t.Number, t.Steps} }

// New returns a search. maxSteps is train.max_steps, required for halving.
func New(spec Spec, maxSteps int64) (*Search, error) {
	spec = spec.completed()
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if spec.Halves() && maxSteps <= 0 {
		return nil, fmt.Errorf("sweep.algorithm %s divides train.max_steps among its rounds: set train.max_steps", spec.Algorithm)
	}
	return &Search{spec: spec, maxSteps: maxSteps, running: map[trialKey]bool{}, done: map[trialKey]Result{}}, nil
}

// Begin sets the values of the first trial, so that no search ends with a worse result; missing keys keep the config's value. A grid ignores it.
func (s *Search) Begin(values map[string]any) {
	if s.spec.Algorithm != "grid" {
		s.first = values
	}
}

// Spec is the spec of the search, with its defaults.
func (s *Search) Spec() Spec { return s.spec }

// Resume continues from the content of a journal: results, and trials that had begun, which run again with the same values.
func (s *Search) Resume(results []Result, begun []Trial) {
	for _, r := range results {
		s.Add(r)
		s.next = max(s.next, r.Number+1)
	}
	again := map[trialKey]bool{}
	for _, t := range begun { // a trial that was interrupted twice appears twice
		s.next = max(s.next, t.Number+1)
		if _, ended := s.done[t.key()]; !ended && !again[t.key()] && t.Number < s.spec.Trials {
			s.again, again[t.key()] = append(s.again, t), true
		}
	}
}

// Add records the result of a trial.
func (s *Search) Add(r Result) {
	k := r.key()
	delete(s.running, k)
	if _, twice := s.done[k]; !twice {
		s.order = append(s.order, k)
	}
	s.done[k] = r
}

// Next returns a trial to run now; ok is false if other trials have to end first, or none are left.
func (s *Search) Next() (t Trial, ok bool) {
	if len(s.again) > 0 {
		t, s.again = s.again[0], s.again[1:]
		s.running[t.key()] = true
		return t, true
	}
	if s.spec.Halves() {
		t, ok = s.halved()
	} else if ok = s.next < s.spec.Trials; ok {
		t = Trial{Number: s.next, Values: s.values(s.next)}
		s.next++
	}
	if ok {
		s.running[t.key()] = true
	}
	return t, ok
}

// values are the values of new trial n.
func (s *Search) values(n int) map[string]any {
	if n == 0 && s.first != nil {
		return maps.Clone(s.first)
	}
	v := map[string]any{}
	r := s.random(n)
	if s.spec.Algorithm == "grid" {
		for _, p := range s.spec.Parameters {
			all := p.grid()
			v[p.Key] = all[n%len(all)]
			n /= len(all)
		}
		return v
	}
	var good, bad []Result
	if s.spec.Algorithm == "tpe" {
		good, bad = s.split()
	}
	for _, p := range s.spec.Parameters {
		if len(good) > 0 {
			v[p.Key] = p.suggest(r, placesOf(p, good), placesOf(p, bad))
		} else {
			v[p.Key] = p.draw(r)
		}
	}
	return v
}

// random is the source of a trial's choices, which do not depend on how many trials run at a time.
func (s *Search) random(n int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(s.spec.Seed), uint64(n)))
}

// Results returns all results in the order in which they were added.
func (s *Search) Results() []Result {
	var out []Result
	for _, k := range s.order {
		out = append(out, s.done[k])
	}
	return out
}

// Ranked returns the last result of each trial, or the last one with a value, the best first. For halving, trials that reached later rounds
// come first. Trials without a value come last.
func (s *Search) Ranked() []Result {
	last := map[int]Result{}
	for _, r := range s.Results() {
		old, ok := last[r.Number]
		_, had := old.Got()
		if _, has := r.Got(); !ok || has && !had || has == had && r.Steps > old.Steps {
			last[r.Number] = r
		}
	}
	var list []Result
	for _, k := range s.order {
		if r := last[k.number]; r.Steps == k.steps {
			list = append(list, r)
		}
	}
	out := s.ranked(list)
	slices.SortStableFunc(out, func(a, b Result) int {
		_, x := a.Got()
		if _, y := b.Got(); !x || !y {
			return 0 // the others are at the end
		}
		return cmp.Compare(b.Steps, a.Steps)
	})
	return out
}
