package trees

import (
	"errors"
	"fmt"
	"math"
)

// ErrFeature is wrapped by errors about features that trees cannot be grown from.
var ErrFeature = errors.New("invalid feature of boosted trees")

// maxBins is the most bins of a histogram column: a bin is a byte.
const maxBins = 256

// present is the threshold of the columns of a categorical feature: at or above it, an example has the id.
const present float32 = 0.5

// Feature is one feature of the examples: a number, or the ids of a categorical column.
//
// Examples are rows of float32. An ordered feature (Width 0) is the column First, and its bin i holds the numbers in
// [Boundaries[i-1], Boundaries[i]); NaN is smaller than all. A categorical feature is Width columns from First on, one
// for each id, at least 0.5 where the example has it; a split asks for one id.
type Feature struct {
	Name       string
	First      int
	Width      int       // 0: ordered
	Boundaries []float32 // an ordered feature's: finite, strictly increasing, at most 255
}

// Group is a column of the histograms. It has the bins of an ordered feature, or bin 0 for no id and then up to 255 bins for the
// ids of a categorical feature. Ordered features with two bins count as ids, too: tables often have a column of 0 and 1 for each
// id, mostly 0.
type Group struct {
	Feature int // index of the feature, or of the first of several
	Base    int // the example's column of the number, or of the id in bin 1
	Bins    int
	Offset  int // first bin among the bins of all groups
	Ordered bool
	flags   []flag // the ids of several features
}

// flag is a feature with two bins.
type flag struct {
	column    int
	threshold float32
}

// Space is the search space of splits: features and the columns of their histograms.
type Space struct {
	Features []Feature
	Groups   []Group
	Bins     int // of all groups
	Width    int // columns of an example
}

// NewSpace checks features and lays out their histograms. The error wraps ErrFeature and names the feature.
func NewSpace(features []Feature, width int) (*Space, error) {
	s := &Space{Features: features, Width: width}
	var flags Group
	for i, f := range features {
		if err := f.check(width); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrFeature, f.Name, err)
		}
		if f.Width == 0 && len(f.Boundaries) == 1 {
			if len(flags.flags) == maxBins-1 {
				s.addFlags(flags)
				flags = Group{}
			}
			if len(flags.flags) == 0 {
				flags.Feature, flags.Base = i, f.First
			}
			flags.flags = append(flags.flags, flag{f.First, f.Boundaries[0]})
			continue
		}
		if f.Width == 0 {
			s.add(Group{Feature: i, Base: f.First, Bins: len(f.Boundaries) + 1, Ordered: true})
			continue
		}
		for id := 0; id < f.Width; id += maxBins - 1 {
			s.add(Group{Feature: i, Base: f.First + id, Bins: 1 + min(maxBins-1, f.Width-id)})
		}
	}
	s.addFlags(flags)
	return s, nil
}

// addFlags adds a group of features with two bins.
func (s *Space) addFlags(g Group) {
	if n := len(g.flags); n > 0 {
		g.Bins = n + 1
		s.add(g)
	}
}

// id returns the column of a bin's id, and the threshold from which an example has it.
func (g *Group) id(bin int) (column int, threshold float32) {
	if g.flags != nil {
		return g.flags[bin-1].column, g.flags[bin-1].threshold
	}
	return g.Base + bin - 1, present
}

func (s *Space) add(g Group) {
	g.Offset = s.Bins
	s.Bins += g.Bins
	s.Groups = append(s.Groups, g)
}

func (f Feature) check(width int) error {
	if f.First < 0 || f.Width < 0 || f.First+max(f.Width, 1) > width {
		return fmt.Errorf("columns [%d, %d) are outside the %d of an example", f.First, f.First+max(f.Width, 1), width)
	}
	if len(f.Boundaries) >= maxBins {
		return fmt.Errorf("%d bucket boundaries, expected at most %d", len(f.Boundaries), maxBins-1)
	}
	before := float32(math.Inf(-1))
	for i, b := range f.Boundaries {
		if !(b > before) || math.IsInf(float64(b), 1) {
			return fmt.Errorf("boundary %d is %v after %v, expected finite, strictly increasing ones", i, b, before)
		}
		before = b
	}
	return nil
}

// Cut returns the column and the threshold of the split at a bin of a group. An example goes right if its number reaches
// the threshold.
func (s *Space) Cut(group, bin int) (column int, threshold float32) {
	g := &s.Groups[group]
	if g.Ordered {
		return g.Base, s.Features[g.Feature].Boundaries[bin-1]
	}
	return g.id(bin)
}

// FeatureOf returns the index of the feature that a column of the example belongs to, -1 for none.
func (s *Space) FeatureOf(column int) int {
	for i, f := range s.Features {
		if column >= f.First && column < f.First+max(f.Width, 1) {
			return i
		}
	}
	return -1
}
