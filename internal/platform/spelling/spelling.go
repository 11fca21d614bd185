// Package spelling finds what somebody may have meant by a name that does not exist.
package spelling

import "strings"

// Nearest returns the known name most like name, the first of several, or "" where
// none is like it: the shortest that begins with it, else a name where a third of the
// letters differ, or two.
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
	const least = 3 // letters that say enough
	best := ""
	for _, k := range known {
		if len(name) >= least && strings.HasPrefix(k, name) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// Distance is Levenshtein's: insertions, deletions and replacements of bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
