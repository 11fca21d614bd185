// Package spelling suggests known names for a name that does not exist.
package spelling

import "strings"

// Nearest returns the first known name most like name, or "" if none is: the shortest that begins with name, otherwise a name that
// differs in a third of the letters, or in two.
func Nearest(name string, known []string) string {
	if whole := beginning(name, known); whole != "" {
		return whole
	}
	best, bestCost := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if cost := Distance(name, k); cost < bestCost && cost < len(k) {
			best, bestCost = k, cost
		}
	}
	return best
}

// beginning returns the shortest known name that begins with name, the first of several.
func beginning(name string, known []string) string {
	const least = 3 // letters that are enough for a guess
	best := ""
	for _, k := range known {
		if len(name) >= least && strings.HasPrefix(k, name) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// Distance counts the insertions, deletions and replacements of bytes, and the swaps of two neighbours, that turn a into b; no byte
// is edited twice (the optimal string alignment distance).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replace := 1
			if a[i] == b[j] {
				replace = 0
			}
			cost := min(last[j]+replace, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
