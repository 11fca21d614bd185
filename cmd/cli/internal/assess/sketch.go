package assess

import (
	"cmp"
	"slices"
)

// sketch holds weights of positives and negatives by score in bounded memory. It is exact for up to most different
// scores; beyond that, it merges neighbours into points of about equal weight.
type sketch struct {
	most   int
	points []point
}

// point has the weights of one score, or of a merged range of scores; its score is then their weighted mean.
type point struct {
	score, pos, neg float64
	merged          bool
}

func (p point) weight() float64 { return p.pos + p.neg }

func (s *sketch) add(score, pos, neg float64) {
	if pos+neg == 0 {
		return
	}
	s.points = append(s.points, point{score: score, pos: pos, neg: neg})
	if len(s.points) >= 2*s.most {
		s.compress()
	}
}

// sorted are the points by score, each score once.
func (s *sketch) sorted() []point {
	s.compress()
	return s.points
}

func (s *sketch) compress() {
	slices.SortStableFunc(s.points, func(a, b point) int { return cmp.Compare(a.score, b.score) })
	s.join(func(held, next point) bool { return held.score == next.score })
	if len(s.points) <= s.most {
		return
	}
	total := 0.0
	for _, p := range s.points {
		total += p.weight()
	}
	share := 2 * total / float64(s.most)
	s.join(func(held, next point) bool { return held.weight()+next.weight() <= share })
}

// join merges each point into the one before it if together returns true.
func (s *sketch) join(together func(held, next point) bool) {
	out := s.points[:0]
	for i, p := range s.points {
		if i == 0 || !together(out[len(out)-1], p) {
			out = append(out, p)
			continue
		}
		held := &out[len(out)-1]
		if held.score != p.score {
			w := held.weight() + p.weight()
			held.score += (p.score - held.score) * p.weight() / w
			held.merged = true
		}
		held.merged = held.merged || p.merged
		held.pos += p.pos
		held.neg += p.neg
	}
	s.points = out
}

// quantile is the score below which a share q of the weight lies; none without points.
func quantile(sorted []point, q float64) float64 {
	total, below := 0.0, 0.0
	for _, p := range sorted {
		total += p.weight()
	}
	for _, p := range sorted {
		if below += p.weight(); below >= q*total {
			return p.score
		}
	}
	return none
}
