package ops

import (
	"fmt"
	"slices"
	"strings"
)

// einsum is an equation with the ellipsis written out: a label for each dimension.
// Labels of the ellipsis are negative, -1 for the last.
type einsum struct {
	in  [][]int
	out []int
}

// parseEinsum reads an equation for operands of the given ranks. Without "->" the
// result has the labels that appear once, in alphabetical order, after the ellipsis.
func parseEinsum(equation string, ranks []int) (*einsum, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	terms := strings.Split(left, ",")
	if len(terms) != len(ranks) {
		return nil, fmt.Errorf("equation %q is for %d operands, got %d", equation, len(terms), len(ranks))
	}
	e, widest, seen := &einsum{}, 0, map[int]int{}
	for i, term := range terms {
		labels, hidden, err := labelsOf(term, ranks[i])
		if err != nil {
			return nil, fmt.Errorf("equation %q: %w", equation, err)
		}
		e.in, widest = append(e.in, labels), max(widest, hidden)
		for _, l := range labels {
			seen[l]++
		}
	}
	if !explicit {
		right = implied(seen, strings.Contains(left, "..."))
	}
	out, _, err := labelsOf(right, len(strings.ReplaceAll(right, "...", ""))+dotted(right, widest))
	if err != nil {
		return nil, fmt.Errorf("equation %q: %w", equation, err)
	}
	for _, l := range out {
		if seen[l] == 0 {
			return nil, fmt.Errorf("equation %q: the result has a label that no operand has", equation)
		}
	}
	if widest > 0 && dotted(right, 1) == 0 {
		return nil, fmt.Errorf("equation %q: the result has no ellipsis, whose dimensions would be lost", equation)
	}
	e.out = out
	return e, nil
}

func dotted(term string, n int) int {
	if strings.Contains(term, "...") {
		return n
	}
	return 0
}

// implied returns the result of an equation that does not state one.
func implied(seen map[int]int, dots bool) string {
	var once []int
	for l, n := range seen {
		if n == 1 && l > 0 {
			once = append(once, l)
		}
	}
	slices.Sort(once)
	s := ""
	if dots {
		s = "..."
	}
	for _, l := range once {
		s += string(rune(l))
	}
	return s
}

// labelsOf returns the label of each dimension of a term, and how many are in the ellipsis.
func labelsOf(term string, rank int) (labels []int, hidden int, err error) {
	before, after, dots := strings.Cut(term, "...")
	if hidden = rank - len(before) - len(after); hidden < 0 || !dots && hidden > 0 {
		return nil, 0, fmt.Errorf("the labels %q do not fit rank %d", term, rank)
	}
	for _, r := range before {
		labels = append(labels, int(r))
	}
	for i := range hidden {
		labels = append(labels, i-hidden)
	}
	for _, r := range after {
		labels = append(labels, int(r))
	}
	for _, l := range labels {
		if l >= 0 && !(l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z') {
			return nil, 0, fmt.Errorf("the label %q is not a letter", rune(l))
		}
	}
	return labels, hidden, nil
}
