package trees

import "testing"

// TestDrawnColumns: each tree draws its own share of the groups, at least one, and in the long run draws all groups equally often.
func TestDrawnColumns(t *testing.T) {
	for _, c := range []struct {
		share  float64
		groups int
		want   int // 0: all
	}{{0, 5, 0}, {1, 5, 0}, {0.6, 5, 3}, {0.1, 3, 1}, {0.99, 2, 2}, {0.5, 40, 20}} {
		config := Config{ColumnShare: c.share}
		seen := make([]int, c.groups)
		const many = 2000
		for tree := range int64(many) {
			got, n := config.drawn(c.groups, tree), 0
			if (got == nil) != (c.want == 0) {
				t.Fatalf("%v of %d: got %v", c.share, c.groups, got)
			}
			for g, in := range got {
				if in {
					n, seen[g] = n+1, seen[g]+1
				}
			}
			if n != c.want {
				t.Fatalf("%v of %d, tree %d: %d groups, expected %d", c.share, c.groups, tree, n, c.want)
			}
		}
		for g, n := range seen {
			if mean := many * c.want / c.groups; n < mean*9/10 || n > mean*11/10 {
				t.Errorf("%v of %d: group %d is in %d trees, expected about %d", c.share, c.groups, g, n, mean)
			}
		}
	}
}

// TestColumnShareSplits: with one column per tree, each tree splits by only one of two columns, and both are used.
func TestColumnShareSplits(t *testing.T) {
	c := Config{Trees: 20, Depth: 2, LearningRate: 0.1, Dim: 1, ColumnShare: 0.5}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	used := map[bool]int{}
	for tree := range int64(c.Trees) {
		in := c.drawn(2, tree)
		used[in[0]]++
		sums := &Sums{Nodes: 1, Dim: 1, Bins: 4, V: []float64{-5, 5, 5, 5, -9, 5, 9, 5, 0, 10}}
		space := &Space{Groups: []Group{{Offset: 0, Bins: 2, Ordered: true}, {Offset: 2, Bins: 2, Ordered: true}}, Bins: 4}
		var split Split
		sums.best(0, space, regularization{}, in, &split)
		if split.Group < 0 || !in[split.Group] {
			t.Fatalf("tree %d: split by group %d of %v", tree, split.Group, in)
		}
	}
	if used[true] == 0 || used[false] == 0 {
		t.Errorf("got %v, expected both columns", used)
	}
	for _, share := range []float64{-0.1, 1.1} {
		c.ColumnShare = share
		if c.Check() == nil {
			t.Errorf("column_share %v is taken", share)
		}
	}
}
