package tabular_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// TestLabel: the task and classes inferred from a label's values.
func TestLabel(t *testing.T) {
	of := func(values ...string) func(int) string { return func(r int) string { return values[r%len(values)] } }
	for _, c := range []struct {
		name string
		cell func(int) string
		task tabular.Task
		want string // task and classes, or part of the error
	}{
		{"text", of("setosa", "virginica", "versicolor"), "", "classification [{setosa 34} {versicolor 33} {virginica 33}]"},
		{"booleans", of("true", "false"), "", "binary classification [{false 50} {true 50}]"},
		{"words of yes and no", of("yes", "no"), "", "binary classification [{no 50} {yes 50}]"},
		{"0 and 1", of("1", "0"), "", "binary classification [{0 50} {1 50}]"},
		{"floats of two values", of("1.0", "0.0"), "", "binary classification [{0.0 50} {1.0 50}]"},
		{"numbers in two forms", of("1.0", "0", "1", "0"), "", "binary classification [{0 50} {1 50}]"},
		{"one number in two forms", of("1.0", "1"), "", `always "1"`},
		{"marks among words", of("None", "mild", "NA", "severe"), "", "classification [{NA 25} {None 25} {mild 25} {severe 25}]"},
		{"marks among numbers", of("1", "2", "NA", "1"), "", "binary classification [{1 50} {2 25}], 25 missing"},
		{"a mark that is no word", of("a", "b", "?", "NA"), "", "classification [{NA 25} {a 25} {b 25}], 25 missing"},
		{"few integers", of("10", "9", "8"), "", "classification [{8 33} {9 33} {10 34}]"},
		{"few integers as numbers", of("10", "9", "8"), tabular.Regression, "regression []"},
		{"codes of classes", format("%d", 7, 13), "", "classification [{0 8} {1 8}"},
		{"many integers", format("%d", 7, 40), "", "regression []"},
		{"many integers as classes", format("%d", 1, 25), tabular.Multiclass, "classification [{0 4} {1 4}"},
		{"floats", format("%d.25", 7, 50), "", "regression []"},
		{"rare classes", func(r int) string { return map[bool]string{true: "rare", false: "usual"}[r == 50] }, "", "binary classification [{rare 1} {usual 99}]"},
		{"numbers and words", of("9", "10", "5a"), tabular.Multiclass, "classification [{9 34} {10 33} {5a 33}]"},
		{"constant", of("x"), "", `always "x"`},
		{"words for regression", of("low", "high"), tabular.Regression, `has words, for example "high"`},
		{"missing", of("a", "b", "", "?"), "", "binary classification [{a 25} {b 25}], 50 missing"},
		{"all missing", of("?"), "", "missing in 100 of 100 rows"},
		{"dates", of("2020-01-02", "2020-01-03"), "", "of kind date"},
		{"names", format("name %d", 1, 60), "", "60 different values in 100 rows"},
		{"classes of two rows", format("name %d", 1, 50), "", "classification [{name 0 2} "},
		{"large numbers that differ little", func(r int) string { return fmt.Sprintf("%d.5", 1000000000+r) }, "", "1000000050 on average and deviates from it by 28.9"},
		{"large numbers that differ enough", func(r int) string { return fmt.Sprintf("%d.5", 1000000+r*100) }, "", "regression []"},
		{"long texts", of(strings.Repeat("a", 129), strings.Repeat("b", 129)), "", "more than 128 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := labelOf(t, table(100, "x,y", format("%d", 3, 10), c.cell), c.task)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, expected %s", got, c.want)
			}
		})
	}
}

// TestLabelOfCodes: many whole numbers are classes if they are consecutive from 0 or 1 and about equally frequent.
func TestLabelOfCodes(t *testing.T) {
	for _, c := range []struct {
		name, want string
		cell       func(int) string
	}{
		{"from 0", "classification", format("%d", 1, 40)},
		{"from 1", "classification", func(r int) string { return fmt.Sprint(1 + r%40) }},
		{"from 2", "regression", func(r int) string { return fmt.Sprint(2 + r%40) }},
		{"with a gap", "regression", func(r int) string { return fmt.Sprint([]int{50, r % 40}[min(r%40, 1)]) }},
		{"nine rows each", "regression", format("%d", 1, 134)},
		{"one twice as often", "classification", func(r int) string { return fmt.Sprint(r % 41 % 40) }},
		{"one three times as often", "regression", func(r int) string { return fmt.Sprint(r % 42 % 40 * min(r%42/2, 1)) }},
		{"more than a hundred", "regression", format("%d", 1, 101)},
	} {
		if got := labelOf(t, table(1200, "x,y", format("%d", 3, 10), c.cell), ""); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %s, expected %s", c.name, got, c.want)
		}
	}
}

// TestLabelOfCounts: among more than ten whole numbers, very rare ones suggest the tails of counts.
func TestLabelOfCounts(t *testing.T) {
	for values, want := range map[int]string{10: "classification", 13: "regression"} {
		counts := func(r int) string { return fmt.Sprint(map[bool]int{true: r, false: 5 + r%4}[r < values]) }
		if got := labelOf(t, table(300, "x,y", format("%d", 3, 10), counts), ""); !strings.HasPrefix(got, want) {
			t.Errorf("%d values: got %s, expected %s", values, got, want)
		}
	}
}

// labelOf returns the task and classes of column y, or the error.
func labelOf(t *testing.T, content string, task tabular.Task) string {
	t.Helper()
	p, err := tabular.Read(t.Context(), write(t, "t.csv", content), tabular.Options{Label: "y", Task: task})
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprint(p.Label.Task, " ", p.Label.Classes)
	if n := p.Label.Missing; n > 0 {
		out += fmt.Sprintf(", %d missing", n)
	}
	if n := int64(p.Sampled); n != p.Labelled() {
		t.Errorf("%d rows of the sample have a label, expected %d", n, p.Labelled())
	}
	return out
}

// TestLabelOfManyWords: more different words than the counter holds are an error for both tasks.
func TestLabelOfManyWords(t *testing.T) {
	content := table(1<<15+1, "x,y", format("%d", 3, 10), format("w%d", 1, 0))
	for task, want := range map[tabular.Task]string{
		"": "more than 1000 different values", tabular.Regression: `has words, for example "w`,
	} {
		if got := labelOf(t, content, task); !strings.Contains(got, want) {
			t.Errorf("%q: got %s, expected %s", task, got, want)
		}
	}
	if got := labelOf(t, table(2000, "x,y", format("%d", 3, 10), format("w%d", 1, 1000)), ""); !strings.HasPrefix(got, "classification [{w0 2}") {
		t.Errorf("1000 classes: got %.80s", got)
	}
	if got := labelOf(t, table(2002, "x,y", format("%d", 3, 10), format("w%d", 1, 1001)), ""); !strings.Contains(got, "more than 1000") {
		t.Errorf("1001 classes: got %.80s", got)
	}
}

func TestUnknownLabel(t *testing.T) {
	path := write(t, "t.csv", "species,width\na,1\nb,2\n")
	for label, want := range map[string]string{
		"specis": `did you mean "species"? The columns are species, width`,
		"Width":  `did you mean "width"?`,
		"price!": `no column "price!": the columns are species, width`,
	} {
		p, err := tabular.Read(t.Context(), path, tabular.Options{Label: label})
		var unknown *tabular.UnknownLabelError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) || p == nil {
			t.Errorf("%s: got %v, expected %s", label, err, want)
		}
	}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("c", i))
	}
	if got := (&tabular.UnknownLabelError{Names: names}).Error(); !strings.HasSuffix(got, "c29, ... (40 columns)") {
		t.Errorf("got %s", got)
	}
}

// TestHints: a column that renames the label's values is pointed out, a good predictor with errors is not.
func TestHints(t *testing.T) {
	label := func(r int) int { return r * 7919 % 104729 % 2 }
	content := table(1000, "paid,noisy,other,y",
		func(r int) string { return []string{"never", "always"}[label(r)] },
		func(r int) string { return fmt.Sprint((label(r)*10 + r%12)) },
		format("%d", 37, 11),
		func(r int) string { return fmt.Sprint(label(r)) })
	p := read(t, "t.csv", content, tabular.Options{Label: "y"})
	hints := strings.Join(p.Hints(), "\n")
	if !strings.Contains(hints, "paid: it alone predicts the label (100.0 %)") || strings.Contains(hints, "noisy") || strings.Contains(hints, "other") {
		t.Errorf("got %q", hints)
	}
	r := p.Relations()
	if r[1].Correlation < 0.7 || r[1].Alone < 0.75 || r[1].Alone > 0.98 || r[2].Alone > 0.7 || r[0].Correlation == r[0].Correlation {
		t.Errorf("got %+v", r)
	}
}

// TestHintOfNumbers: a column with the label in another unit is pointed out.
func TestHintOfNumbers(t *testing.T) {
	v := func(r int) int { return r * 7919 % 1009 }
	p := read(t, "t.csv", table(1000, "cents,x,y", func(r int) string { return fmt.Sprint(v(r)*100 + r%3) },
		format("%d", 37, 11), func(r int) string { return fmt.Sprintf("%d.5", v(r)) }), tabular.Options{Label: "y"})
	if hints := p.Hints(); p.Label.Task != tabular.Regression || len(hints) != 1 || !strings.HasPrefix(hints[0], "cents: ") {
		t.Errorf("got %q", hints)
	}
	if c := p.Relations()[0].Correlation; c < 0.999 {
		t.Errorf("the correlation is %g, expected 1", c)
	}
}

// TestHintOfCase: classes that differ only in case are pointed out.
func TestHintOfCase(t *testing.T) {
	classes := func(words ...string) string {
		p := read(t, "t.csv", table(90, "x,y", format("%d", 7, 31), func(r int) string { return words[r%len(words)] }), tabular.Options{Label: "y"})
		return strings.Join(p.Hints(), "\n")
	}
	if got, want := classes("No", "yes", "Yes", "YES"), `the label: "YES" and "Yes" and "yes" are different classes`; !strings.Contains(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
	if got := classes("No", "Yes"); strings.Contains(got, "different classes") {
		t.Errorf("got %q", got)
	}
}

// TestHintOfDuplicates: many duplicate rows are pointed out.
func TestHintOfDuplicates(t *testing.T) {
	p := read(t, "t.csv", table(100, "x,y", format("%d", 1, 10), format("%d", 1, 2)), tabular.Options{Label: "y"})
	if p.Duplicates != 90 || p.Compared != 100 || !strings.Contains(strings.Join(p.Hints(), "\n"), "90 of 100 are equal") {
		t.Errorf("got %d of %d, %q", p.Duplicates, p.Compared, p.Hints())
	}
	if hints := read(t, "t.csv", "x,y\n1,2\n", tabular.Options{}).Hints(); hints != nil {
		t.Errorf("without a label: got %q", hints)
	}
}

// TestContext: a cancelled context stops reading in each format.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, content := range formats(t) {
		if _, err := tabular.Read(ctx, write(t, name, content), tabular.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
