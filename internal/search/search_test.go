package search

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var ranges = []Parameter{{Key: "rate", Min: 1e-4, Max: 1, Log: true}, {Key: "units", Min: 1, Max: 9, Integer: true}, {Key: "name", Values: []any{"a", "b", []any{1.0, 2.0}}}, {Key: "drop", Min: -0.5, Max: 0.5}}

// all runs a search to its end.
func all(t *testing.T, s *Search, value func(Trial) *float64) []Result {
	t.Helper()
	for i := 0; ; i++ {
		trial, ok := s.Next()
		if !ok {
			return s.Results()
		}
		if i > 10000 {
			t.Fatal("the search does not end")
		}
		s.Add(Result{Trial: trial, Value: value(trial)})
	}
}

func must(t *testing.T, spec Spec, steps int64) *Search {
	t.Helper()
	s, err := New(spec, steps)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func zero(Trial) *float64 { return new(float64) }

// TestGrid: all combinations, each once.
func TestGrid(t *testing.T) {
	s := must(t, Spec{Algorithm: "grid", Parameters: []Parameter{
		{Key: "rate", Min: 0.01, Max: 1, Log: true, Points: 3}, {Key: "units", Min: 1, Max: 3, Integer: true, Points: 9}, {Key: "name", Values: []any{"a", true}}}}, 0)
	seen := map[string]bool{}
	for _, r := range all(t, s, zero) {
		seen[strings.Join(r.Sets(), " ")] = true
	}
	if len(seen) != 3*3*2 || s.Spec().Trials != 18 {
		t.Errorf("got %d of %d combinations", len(seen), s.Spec().Trials)
	}
	for _, want := range []string{"name=a rate=0.01 units=1", "name=true rate=1 units=3"} {
		if !seen[want] {
			t.Errorf("no %s among %v", want, seen)
		}
	}
}

// TestValuesAreInBounds: for every algorithm, with results that may fail.
func TestValuesAreInBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := Spec{Algorithm: rapid.SampledFrom(Algorithms()).Draw(rt, "algorithm"), Trials: rapid.IntRange(1, 40).Draw(rt, "trials"),
			Seed: rapid.Int64().Draw(rt, "seed"), Parameters: ranges, HigherIsBetter: rapid.Bool().Draw(rt, "higher")}
		s := must(t, spec, rapid.Int64Range(1, 100).Draw(rt, "steps"))
		for _, r := range all(t, s, func(Trial) *float64 {
			if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
				return nil
			}
			v := rapid.SampledFrom([]float64{0, 1, 1, -3, math.NaN(), math.Inf(1)}).Draw(rt, "value")
			return &v
		}) {
			rate, drop := r.Values["rate"].(float64), r.Values["drop"].(float64)
			if units := r.Values["units"].(int64); rate < 1e-4 || rate > 1 || drop < -0.5 || drop > 0.5 || units < 1 || units > 9 {
				rt.Fatalf("got %v", r.Values)
			}
			if _, ok := ranges[2].place(r.Values["name"]); !ok {
				rt.Fatalf("got %v", r.Values)
			}
		}
		s.Ranked()
		s.Importance()
	})
}

// TestWholeNumbersAreEquallyLikely: the ends of a range are as likely as the rest.
func TestWholeNumbersAreEquallyLikely(t *testing.T) {
	s := must(t, Spec{Trials: 9000, Parameters: ranges}, 0)
	count := map[int64]int{}
	for _, r := range all(t, s, zero) {
		count[r.Values["units"].(int64)]++
	}
	for n := int64(1); n <= 9; n++ {
		if count[n] < 850 || count[n] > 1150 {
			t.Errorf("%d came %d times of 9000, expected about 1000", n, count[n])
		}
	}
}

// TestTPEBeatsRandom on a bowl with a categorical choice, in the median of 40 seeds.
func TestTPEBeatsRandom(t *testing.T) {
	bowl := func(tr Trial) *float64 {
		rate, drop := math.Log10(tr.Values["rate"].(float64)), tr.Values["drop"].(float64)
		units := float64(tr.Values["units"].(int64))
		v := (rate+2)*(rate+2) + 10*(drop-0.2)*(drop-0.2) + 0.1*(units-7)*(units-7)
		if tr.Values["name"] != "b" {
			v++
		}
		return &v
	}
	median := func(algorithm string) float64 {
		var best []float64
		for seed := range int64(40) {
			s := must(t, Spec{Algorithm: algorithm, Trials: 60, Seed: seed, Parameters: ranges}, 0)
			all(t, s, bowl)
			v, _ := s.Ranked()[0].Got()
			best = append(best, v)
		}
		slices.Sort(best)
		return best[20]
	}
	tpe, random := median("tpe"), median("random")
	t.Logf("tpe %.3f, random %.3f", tpe, random)
	if tpe > random/2 {
		t.Errorf("best value %.3f, expected at most half of that of random, %.3f", tpe, random)
	}
}

// TestHalving: the numbers of trials and their steps, and that the best are trained further.
func TestHalving(t *testing.T) {
	s := must(t, Spec{Algorithm: "halving", Trials: 10, Parameters: ranges, HigherIsBetter: true}, 900)
	results := all(t, s, func(tr Trial) *float64 { v := float64(tr.Number % 7); return &v })
	rounds := map[int64][]int{}
	for _, r := range results {
		rounds[r.Steps] = append(rounds[r.Steps], r.Number)
	}
	if fmt.Sprint(rounds) != "map[100:[0 1 2 3 4 5 6 7 8 9] 300:[6 5 4] 900:[6]]" {
		t.Errorf("got %v", rounds)
	}
	if best := s.Ranked()[0]; best.Number != 6 || best.Steps != 900 || best.Values["rate"] != s.values(6)["rate"] {
		t.Errorf("best: %+v", best)
	}
	s = must(t, Spec{Algorithm: "halving", Trials: 9, Parameters: ranges}, 9)
	if n := len(all(t, s, func(Trial) *float64 { return nil })); n != 9 {
		t.Errorf("%d trials ran where all fail, expected 9", n)
	}
}

// TestHalvingWaits: a round needs all results of the previous one.
func TestHalvingWaits(t *testing.T) {
	s := must(t, Spec{Algorithm: "halving", Trials: 3, Parameters: ranges}, 9)
	var running []Trial
	for {
		tr, ok := s.Next()
		if !ok {
			break
		}
		running = append(running, tr)
	}
	if len(running) != 3 {
		t.Fatalf("%d trials run, expected 3", len(running))
	}
	for i, tr := range running {
		s.Add(Result{Trial: tr, Value: zero(tr)})
		if next, ok := s.Next(); ok != (i == 2) || ok && (next.Number != 0 || next.Steps != 9) {
			t.Errorf("after %d results: %v %v", i+1, next, ok)
		}
	}
}

// TestResumed: a search that stops anywhere, with trials running, ends with the same trials.
func TestResumed(t *testing.T) {
	value := func(tr Trial) *float64 { v := math.Abs(math.Log(tr.Values["rate"].(float64)) + 3); return &v }
	for _, algorithm := range Algorithms() {
		spec := Spec{Algorithm: algorithm, Trials: 20, Parameters: ranges}
		want := all(t, must(t, spec, 81), value)
		for stop := 0; stop < len(want); stop += 6 {
			dir := t.TempDir()
			path := filepath.Join(dir, "sweep.jsonl")
			s := must(t, spec, 81)
			j, _, _, err := OpenJournal(path, "x")
			if err != nil {
				t.Fatal(err)
			}
			for i := range stop + 1 {
				tr, _ := s.Next()
				if err := j.Begin(tr); err != nil {
					t.Fatal(err)
				}
				if i < stop {
					r := Result{Trial: tr, Value: value(tr)}
					s.Add(r)
					if err := j.End(r); err != nil {
						t.Fatal(err)
					}
				}
			}
			j.Close()
			j, results, begun, err := OpenJournal(path, "x")
			if err != nil {
				t.Fatal(err)
			}
			again := must(t, spec, 81)
			again.Resume(results, begun)
			got := all(t, again, value)
			j.Close()
			for i := range want {
				if len(got) != len(want) || got[i].key() != want[i].key() || !slices.Equal(got[i].Sets(), want[i].Sets()) {
					t.Fatalf("%s stopped after %d: trial %d is %v, expected %v", algorithm, stop, i, got[i], want[i])
				}
			}
		}
	}
}

// TestJournalIsCutOff: wherever a crash cuts it off, complete lines count, and more can be written.
func TestJournalIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.jsonl")
	j, _, _, err := OpenJournal(path, "x")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		tr := Trial{Number: i, Values: map[string]any{"a": "b"}}
		if err := errors.Join(j.Begin(tr), j.End(Result{Trial: tr, Value: zero(tr)})); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := OpenJournal(path, "x"); err == nil {
		t.Error("two at a time: expected an error")
	}
	j.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(whole); n >= 0; n -= 5 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		j, results, begun, err := OpenJournal(path, "x")
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if want := strings.Count(string(whole[:n]), "result\":{") - 1; len(results) < want || len(results) > len(begun) {
			t.Errorf("%d bytes: %d results of %d", n, len(results), len(begun))
		}
		if err := j.Begin(Trial{Number: 9}); err != nil {
			t.Fatal(err)
		}
		j.Close()
		j, _, after, err := OpenJournal(path, "x")
		if err != nil || len(after) != len(begun)+1 {
			t.Errorf("%d bytes: %d begun, %v", n, len(after), err)
		}
		j.Close()
	}
	if _, _, _, err := OpenJournal(path, "y"); !errors.Is(err, ErrOther) {
		t.Errorf("got %v", err)
	}
}

// TestInterruptedTwice: a trial that had begun twice runs once.
func TestInterruptedTwice(t *testing.T) {
	s := must(t, Spec{Trials: 2, Parameters: ranges}, 0)
	begun := Trial{Number: 0, Values: s.values(0)}
	s.Resume(nil, []Trial{begun, begun})
	if got := all(t, s, zero); len(got) != 2 || got[0].Number != 0 || got[1].Number != 1 {
		t.Errorf("got %v", got)
	}
}

// TestLastRoundFails: results of earlier rounds count.
func TestLastRoundFails(t *testing.T) {
	s := must(t, Spec{Algorithm: "halving", Trials: 3, Parameters: ranges}, 9)
	all(t, s, func(tr Trial) *float64 {
		if tr.Steps == 9 {
			return nil
		}
		v := float64(5 - tr.Number)
		return &v
	})
	if best := s.Ranked()[0]; best.Number != 2 || best.Steps != 3 || len(s.Ranked()) != 3 {
		t.Errorf("got %+v", s.Ranked())
	}
}

// TestJournalFails: nothing is written after a line that failed.
func TestJournalFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.jsonl")
	j, _, _, err := OpenJournal(path, "x")
	if err != nil {
		t.Fatal(err)
	}
	j.file.Close()
	if first, second := j.Begin(Trial{}), j.Begin(Trial{}); first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("got %v and %v", first, second)
	}
}

func TestWrongSpecs(t *testing.T) {
	one := []Parameter{{Key: "a", Min: 0, Max: 1}}
	for want, spec := range map[string]Spec{
		"algorithm":          {Algorithm: "luck", Parameters: one},
		"trials":             {Trials: -1, Parameters: one},
		"parallel":           {Parallel: -1, Parameters: one},
		"reduction":          {Reduction: 1, Parameters: one},
		"parameters: none":   {},
		"twice":              {Parameters: append(one, Parameter{Key: "A", Values: []any{1}})},
		"key: expected":      {Parameters: []Parameter{{Values: []any{1}}}},
		"sets this itself":   {Parameters: []Parameter{{Key: "model_dir", Values: []any{1}}}},
		"got both":           {Parameters: []Parameter{{Key: "a", Values: []any{1}, Max: 2}}},
		"min below max":      {Parameters: []Parameter{{Key: "a", Min: 2, Max: 2}}},
		"NaN":                {Parameters: []Parameter{{Key: "a", Min: math.NaN(), Max: 2}}},
		"+Inf":               {Parameters: []Parameter{{Key: "a", Max: math.Inf(1)}}},
		"min above 0":        {Parameters: []Parameter{{Key: "a", Max: 2, Log: true}}},
		"whole numbers":      {Parameters: []Parameter{{Key: "a", Max: 2.5, Integer: true}}},
		"points":             {Parameters: []Parameter{{Key: "a", Max: 2, Points: 1}}},
		"which stops trials": {Algorithm: "hyperband", MedianStopping: true, Parameters: one},
		"halving sets train": {Algorithm: "halving", Parameters: []Parameter{{Key: "train.max_steps", Values: []any{1}}}},
		"set train.max_step": {Algorithm: "halving", Parameters: one},
	} {
		if _, err := New(spec, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// TestImportance: one parameter determines the metric, one has no effect.
func TestImportance(t *testing.T) {
	s := must(t, Spec{Trials: 200, Parameters: ranges}, 0)
	all(t, s, func(tr Trial) *float64 { v := -tr.Values["rate"].(float64); return &v })
	if got := s.Importance(); math.Abs(got[0]-1) > 1e-12 || got[1] > 0.25 || got[2] > 0.25 || got[3] > 0.25 {
		t.Errorf("got %v", got)
	}
	s = must(t, Spec{Trials: 200, Parameters: ranges}, 0)
	all(t, s, func(tr Trial) *float64 { v, _ := ranges[2].place(tr.Values["name"]); return &v })
	if got := s.Importance(); math.Abs(got[2]-1) > 1e-12 || got[0] > 0.25 {
		t.Errorf("got %v", got)
	}
	s = must(t, Spec{Trials: 4, Parameters: ranges}, 0)
	all(t, s, zero)
	if got := s.Importance(); !math.IsNaN(got[0]) {
		t.Errorf("of four trials: %v", got)
	}
}

// TestHyperband: brackets of halvings; the cheapest has the remaining trials, and all of them train.
func TestHyperband(t *testing.T) {
	s := must(t, Spec{Algorithm: "hyperband", Trials: 20, Parameters: ranges, HigherIsBetter: true}, 900)
	rounds := map[int64][]int{}
	for {
		r, ok := s.Next()
		if !ok {
			break
		}
		rounds[r.Steps] = append(rounds[r.Steps], r.Number)
		v := float64(r.Number)
		s.Add(Result{Trial: r, Value: &v})
	}
	want := "map[100:[0 1 2 3 4 5 6 7 8 9 10 11] 300:[11 10 9 8 12 13 14 15 16] 900:[11 16 17 18 19]]"
	if got := fmt.Sprint(rounds); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if b := must(t, Spec{Algorithm: "hyperband", Trials: 4, Parameters: ranges, Reduction: 1 << 40}, math.MaxInt64).brackets(); len(b) != 1 || b[0].trials != 4 {
		t.Errorf("a large reduction: %v", b)
	}
	if b := must(t, Spec{Algorithm: "hyperband", Trials: 1000, Parameters: ranges}, 4).brackets(); len(b) != 2 || b[0].steps[0] != 1 || b[1].steps[0] != 4 {
		t.Errorf("few steps: %v", b)
	}
}

// TestBegin: the first trial has the config's own values; some may be outside of the ranges or missing.
func TestBegin(t *testing.T) {
	for _, algorithm := range Algorithms() {
		s := must(t, Spec{Algorithm: algorithm, Trials: 30, Parameters: ranges}, 900)
		own := map[string]any{ranges[0].Key: 1e9}
		s.Begin(own)
		for range 30 {
			r, ok := s.Next()
			if !ok {
				break
			}
			if r.Number == 0 && (fmt.Sprint(r.Values) == fmt.Sprint(own)) != (algorithm != "grid") {
				t.Errorf("%s begins with %v", algorithm, r.Values)
			}
			v := float64(r.Number)
			s.Add(Result{Trial: r, Value: &v})
		}
		s.Importance()
	}
}

func TestMedianStopping(t *testing.T) {
	s := must(t, Spec{MedianStopping: true, Parameters: ranges}, 0)
	curve := func(values ...float64) []Point {
		var out []Point
		for i, v := range values {
			out = append(out, Point{Step: int64(i+1) * 10, Value: v})
		}
		return out
	}
	worse := curve(9, 8)
	for i, c := range [][]Point{curve(5, 3, 1), curve(6, 4), curve(7, 5, 3)} { // averages until step 20: 4, 5, 6
		if s.Behind(worse) {
			t.Errorf("stopped after %d ended trials", i)
		}
		s.Add(Result{Trial: Trial{Number: i}, Curve: c, Stopped: false})
	}
	for want, c := range map[bool][][]Point{true: {worse, curve(9, 5.1)}, false: {curve(9, 5), curve(5, 9), curve(1), nil}} {
		for _, x := range c {
			if s.Behind(x) != want {
				t.Errorf("%v: want %v", x, want)
			}
		}
	}
	s.Add(Result{Trial: Trial{Number: 3}, Curve: curve(100, 100), Stopped: true})
	s.Add(Result{Trial: Trial{Number: 4}, Curve: curve(100, 100), Error: "failed"})
	if !s.Behind(curve(9, 5.1)) {
		t.Error("trials that were stopped or failed count")
	}
	s = must(t, Spec{Parameters: ranges}, 0)
	if s.Behind(worse) {
		t.Error("stopped without the rule")
	}
}
