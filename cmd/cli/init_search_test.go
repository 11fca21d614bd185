package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/internal/platform/frequent"
)

// draftOf is a draft for a table with so many rows, a number and a label.
func draftOf(rows int64) *draft {
	d := &draft{p: &tabular.Profile{Path: "t.csv", Rows: rows, Label: &tabular.Label{Task: tabular.Regression, Column: 1},
		Columns: []tabular.Column{{Name: "a", Kind: tabular.Number}, {Name: "y", Kind: tabular.Number}}}, uses: []tabular.Use{tabular.Numeric, tabular.LabelUse}, folds: 10}
	d.held = int(rows) / d.folds
	return d
}

// searched searches a table with so many rows and returns the result. Training on a fold takes secs seconds of a fake clock,
// and forests with more trees score better.
func searched(t *testing.T, rows int64, limit float64, secs func(c candidate) float64) (d *draft, tried int, took time.Duration) {
	t.Helper()
	d = draftOf(rows)
	synctest.Test(t, func(t *testing.T) {
		s := &modelSearch{d: d, report: io.Discard, log: slog.New(slog.DiscardHandler), limit: time.Duration(limit * float64(time.Second)),
			fold: func(ctx context.Context, c candidate, _ int) (float64, error) {
				select {
				case <-ctx.Done():
					return 0, fmt.Errorf("training: %w", ctx.Err())
				case <-time.After(time.Duration(secs(c) * float64(time.Second))):
					return 1 / float64(1+c.forest.trees), nil
				}
			}}
		began := time.Now()
		if err := s.run(t.Context()); err != nil {
			t.Error(err)
		}
		s.decide()
		tried, took = len(s.tried), time.Since(began)
	})
	return d, tried, took
}

// TestInitSearchEnds: the search ends at its time limit, even during a trial, and chooses among completed trials.
func TestInitSearchEnds(t *testing.T) {
	layers := func(per float64) func(c candidate) float64 {
		return func(c candidate) float64 {
			if c.network() {
				return 600 * per
			}
			return per * float64(c.forest.trees*c.forest.depth)
		}
	}
	for _, c := range []struct {
		name   string
		rows   int64
		limit  float64
		secs   func(c candidate) float64
		trees  int // of the chosen model
		tried  [2]int
		atMost time.Duration
	}{
		{"all are tried", 20_000, 40, layers(0.0001), 1200, [2]int{9, 40}, 20 * time.Second},
		{"the time is up in a trial", 20_000, 60, layers(0.008), 300, [2]int{4, 4}, 60 * time.Second},
		{"five folds", 2000, 40, layers(0.003), 300, [2]int{2, 12}, 40 * time.Second},
		{"one fold of the first", 2000, 40, func(candidate) float64 { return 13 }, 300, [2]int{2, 2}, 40 * time.Second},
		{"only small ones are fast", 20_000, 40, layers(0.0125), 100, [2]int{4, 4}, 40 * time.Second},
		{"the largest of them is not fast", 20_000, 40, layers(0.02), 45, [2]int{3, 3}, 40 * time.Second},
		{"only the network is fast", 20_000, 40, func(c candidate) float64 { return 1 + float64(c.forest.trees) }, 0, [2]int{1, 1}, 40 * time.Second},
		{"none is fast", 20_000, 40, layers(10), 20, [2]int{0, 0}, 40 * time.Second},
		{"the first one takes longer than the search", 2000, 1, layers(0.002), 300, [2]int{1, 1}, 8 * time.Second},
		{"training on all rows would take too long", 5_000_000, 40, layers(0.0004), 100, [2]int{4, 4}, 40 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, tried, took := searched(t, c.rows, c.limit, c.secs)
			if d.model.forest.trees != c.trees || tried < c.tried[0] || tried > c.tried[1] || took > c.atMost {
				t.Errorf("chose %s of %d tried in %v, expected %d trees of %v in at most %v", d.model.what, tried, took, c.trees, c.tried, c.atMost)
			}
			if d.why == "" {
				t.Error("the config does not say why")
			}
		})
	}
}

// TestInitSearchGivesUp: a model that is far behind on the first folds is given up, one that is slightly behind is not.
func TestInitSearchGivesUp(t *testing.T) {
	d, folds := draftOf(2000), map[string]int{}
	s := &modelSearch{d: d, report: io.Discard, log: slog.New(slog.DiscardHandler), limit: time.Hour,
		fold: func(_ context.Context, c candidate, _ int) (float64, error) {
			folds[c.what]++
			switch {
			case c.linear:
				return 1.38, nil // the limit is 1.37 after the first of five folds
			case c.network():
				return 1.14, nil // the limit is 1.18 after the fourth
			}
			return 1, nil
		}}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.candidates() {
		want := 5
		if c.linear {
			want = 1
		}
		if folds[c.what] != want {
			t.Errorf("%s was tried on %d folds, expected %d", c.what, folds[c.what], want)
		}
	}
}

// TestInitSearchGivesChances: the loss on few rows is no reason to give up, above all if the best model makes no mistake.
func TestInitSearchGivesChances(t *testing.T) {
	d := draftOf(100)
	d.p.Label.Task = tabular.Multiclass
	s := &modelSearch{d: d, report: io.Discard, log: slog.New(slog.DiscardHandler), limit: time.Hour,
		fold: func(_ context.Context, c candidate, fold int) (float64, error) {
			switch {
			case c.linear:
				return 0.1, nil
			case fold == 0:
				return 0.001, nil
			}
			return 0.2, nil
		}}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.decide(); !d.model.linear {
		t.Errorf("chose %s, expected the linear model", d.model.what)
	}
}

// TestInitByChance: a difference counts if it exceeds 1.5 standard errors.
func TestInitByChance(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want bool
	}{
		{[]float64{1, 2, 3, 4}, []float64{1.2, 2.1, 3.2, 4.1}, false},
		{[]float64{1, 2, 3, 4}, []float64{1.9, 1.2, 3.9, 3.2}, true},
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4.4}, true},    // as large as its standard error
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3.4, 4.4}, false}, // 1.7 times as large
		{[]float64{1, 2}, []float64{1.9, 1.2}, false},
		{[]float64{1, 2, 3, 4}, []float64{1.9, 1.2, 3.9, 3.2, 9}, true},
		{nil, nil, false},
	} {
		if got := byChance(c.a, c.b, 1.5); got != c.want {
			t.Errorf("%v and %v: got %v", c.a, c.b, got)
		}
	}
}

// TestInitSearchWithoutItsNetwork: if a network cannot be trained and there is no time for the usual trees, small trees are tried.
func TestInitSearchWithoutItsNetwork(t *testing.T) {
	d := draftOf(20_000)
	s := &modelSearch{d: d, report: io.Discard, log: slog.New(slog.DiscardHandler), limit: time.Hour,
		fold: func(_ context.Context, c candidate, _ int) (float64, error) {
			switch {
			case c.network():
				return 0, errors.New("its loss is not finite")
			case c.forest == d.known()[0]:
				return 0, errTooLong
			}
			return 1 / float64(c.forest.trees), nil
		}}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.decide(); d.model.forest != quickForests[2] {
		t.Errorf("chose %s, expected the last small forest", d.model.what)
	}
}

// TestInitSearchCancelled: a user who stops init gets no config from the trials so far.
func TestInitSearchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := draftOf(6000)
	trials := 0
	s := &modelSearch{d: d, report: io.Discard, log: slog.New(slog.DiscardHandler), limit: time.Hour,
		fold: func(ctx context.Context, _ candidate, _ int) (float64, error) {
			if trials++; trials == 3 {
				cancel()
			}
			return 1, ctx.Err()
		}}
	if err := s.run(ctx); !errors.Is(err, context.Canceled) || trials != 3 {
		t.Errorf("%d trials, got %v, expected context.Canceled after 3", trials, err)
	}
}

// TestInitForestsOfManyColumns: with many columns and few rows, trees with a share of the columns and trees with all of them come before networks.
func TestInitForestsOfManyColumns(t *testing.T) {
	d := draftOf(100)
	for len(d.uses) < 150 {
		d.uses, d.p.Columns = append(d.uses, tabular.Numeric), append(d.p.Columns, tabular.Column{})
	}
	list := d.candidates()
	if a, b := list[0].forest, list[1].forest; a.columns >= 1 || b.columns != 1 || b.trees == 0 || !list[2].network() {
		t.Errorf("the first three are %s, %s and %s", list[0].what, list[1].what, list[2].what)
	}
	seen := map[string]int{}
	for _, c := range list {
		if seen[c.what]++; seen[c.what] > 1 {
			t.Errorf("%s is there twice", c.what)
		}
	}
	if len(seen) != len(d.known())+4 {
		t.Errorf("%d candidates, expected %d forests, three networks and a linear model", len(seen), len(d.known()))
	}
}

// TestInitManyValues: networks get a larger vocabulary if each value has enough rows.
func TestInitManyValues(t *testing.T) {
	for rows, want := range map[int64]string{100: "size: 1000,", 20_000: "size: 1000,", 220_000: "size: 9900,", 1_000_000: "size: 20000,"} {
		d := draftOf(rows)
		d.uses, d.p.Columns = append(d.uses, tabular.Category), append(d.p.Columns, tabular.Column{Name: "store", Distinct: 5000})
		for _, c := range []candidate{d.net(0.002, 0, 8), d.linear(0.02)} {
			if lines, _ := d.columns(c); !strings.Contains(strings.Join(lines, "\n"), want) {
				t.Errorf("%s of %d rows: expected %q in %q", c.what, rows, want, lines)
			}
		}
		if lines, _ := d.columns(d.boosted(d.known()[0])); !strings.Contains(strings.Join(lines, "\n"), "size: 120,") {
			t.Errorf("trees of %d rows: %q", rows, lines)
		}
	}
}

// TestInitSmallForest: with many rows, a small forest for noisy labels comes early, before networks.
func TestInitSmallForest(t *testing.T) {
	list := draftOf(6000).candidates()
	if a, b := list[0].forest, list[1].forest; b.depth > 3 || b.trees*b.depth*4 > a.trees*a.depth || list[2].network() || !list[3].network() {
		t.Errorf("the first are %s, %s, %s and %s", list[0].what, list[1].what, list[2].what, list[3].what)
	}
}

// TestInitForestsOfFewRows: a leaf holds at most a quarter of the rows. 18 rows of two classes weigh 4.5, and leaves of 4 would prevent any split.
func TestInitForestsOfFewRows(t *testing.T) {
	for rows, want := range map[int64]float64{20: 1.125, 80: 4, 6000: 4} {
		d := draftOf(rows)
		d.p.Label.Task = tabular.Binary
		if got := d.known()[0].leaf; got != want {
			t.Errorf("%d rows of classes: a leaf of %g, expected %g", rows, got, want)
		}
		if got := draftOf(rows).known()[0].leaf; got != 4 {
			t.Errorf("%d rows of numbers: a leaf of %g, expected 4", rows, got)
		}
	}
}

// TestInitForestsOfClasses: for more than two classes, forests with separate trees for each class come first, unless they have too many nodes.
// With many columns, their trees get a share of them.
func TestInitForestsOfClasses(t *testing.T) {
	classes := func(n int) *draft {
		d := draftOf(6000)
		d.p.Label.Task = tabular.Multiclass
		for c := range n {
			d.p.Label.Classes = append(d.p.Label.Classes, frequent.Entry[string]{Value: fmt.Sprint(c), Count: 6000 / int64(n)})
		}
		return d
	}
	for n, want := range map[int]bool{2: false, 3: true, 26: true, 200: false} {
		if got := classes(n).known()[0].own; got != want {
			t.Errorf("%d classes: each has its trees: %v", n, got)
		}
	}
	d := classes(5)
	lines := strings.Join(d.params(d.boosted(d.known()[0]), []string{"x"}), "\n")
	if !strings.Contains(lines, "class_trees: true") || !strings.Contains(lines, "n_trees: 50\n") {
		t.Errorf("params are\n%s", lines)
	}
	if own := d.own(); own[0].rate <= own[1].rate || own[0].trees >= own[1].trees {
		t.Errorf("of many rows %v comes before %v, expected the fast one first", own[0], own[1])
	}
	for n, want := range map[int][]int{26: {50, 100}, 40: {48}, 55: {25}, 56: nil} {
		var trees []int
		for _, f := range classes(n).own() {
			trees = append(trees, f.trees)
		}
		if !slices.Equal(trees, want) {
			t.Errorf("%d classes have %v trees each, expected %v", n, trees, want)
		}
	}
	for len(d.uses) < 150 {
		d.uses, d.p.Columns = append(d.uses, tabular.Numeric), append(d.p.Columns, tabular.Column{})
	}
	for _, f := range append(d.known()[:3], d.quickForests()...) {
		if f.columns > 0.2 {
			t.Errorf("%v of 150 columns", f)
		}
	}
}
