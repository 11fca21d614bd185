package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// tableFile writes rows of CSV below a header.
func tableFile(t *testing.T, header string, rows int, row func(r int) string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	for r := range rows {
		b.WriteString(row(r) + "\n")
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// initOf runs init and returns what it printed and the config.
func initOf(t *testing.T, table string, flags ...string) (printed, config string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "config.yaml")
	var stdout, stderr bytes.Buffer
	args := append([]string{"init", table, "--out", out, "--model-dir", filepath.Join(t.TempDir(), "model")}, flags...)
	if code := Run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("init: exit code %d: %s", code, stderr.String())
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), string(b)
}

var triedLine = regexp.MustCompile(`(?m)^tried (.+): (?:rmse|average_loss) (\S+)$`)

// TestInitSearch: the model of the config is the best of those tried, and the search went on from the best known one.
func TestInitSearch(t *testing.T) {
	table := tableFile(t, "a,b,y", 40, func(r int) string {
		a, b := r*7%40, r*11%40
		return fmt.Sprintf("%d,%d,%d", a, b, 1000*a+b*b+r%3)
	})
	printed, config := initOf(t, table, "--label", "y", "--search-secs", "1000")
	best, what, list := math.Inf(1), "", triedLine.FindAllStringSubmatch(printed, -1)
	for _, m := range list {
		score, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if score < best {
			best, what = score, m[1]
		}
	}
	if len(list) < 8 {
		t.Errorf("%d models were tried, expected the 6 known ones and some near the best:\n%s", len(list), printed)
	}
	var trees, depth int
	if _, err := fmt.Sscanf(what, "boosted trees (%d trees of depth %d,", &trees, &depth); err != nil {
		t.Fatalf("%v: %s", err, what)
	}
	if !strings.Contains(config, fmt.Sprintf("n_trees: %d\n    max_depth: %d\n", trees, depth)) {
		t.Errorf("the best is %s, the config has\n%s", what, config)
	}
}

// TestInitTexts: a table of messages alone gives a linear model of their words, beside numbers a combined one; both train and are served as they
// were trained.
func TestInitTexts(t *testing.T) {
	words := []string{"meet me at home", "win a free prize", "call you later then", "free cash now claim"}
	for _, c := range []struct{ header, numbers, want string }{{"text,kind", "", "name: linear_classifier"}, {"text,x,kind", "%d,", "name: dnn_linear_combined_classifier"}} {
		table := tableFile(t, c.header, 200, func(r int) string {
			number := ""
			if c.numbers != "" {
				number = fmt.Sprintf(c.numbers, r*7%50)
			}
			return fmt.Sprintf(`"%s w%d",%s%s`, words[r*r*r%7%4], r, number, []string{"ham", "spam"}[r*r*r%7%4%2])
		})
		p, err := tabular.Read(t.Context(), table, tabular.Options{Label: "kind"})
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDraft(p, filepath.Join(t.TempDir(), "model"))
		if err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc(d.candidates(), func(c candidate) bool { return c.wide }); at < 0 {
			t.Fatal("no model of words is tried")
		}
		config := d.config(d.wide(), part{})
		if !strings.Contains(config, c.want) || !strings.Contains(config, "type: words, key: text") {
			t.Fatalf("expected %s: got\n%s", c.want, config)
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"train", "evaluate"} {
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), []string{command, "--config", path}, &stdout, &stderr); code != 0 {
				t.Fatalf("%s: exit code %d: %s", command, code, stderr.String())
			}
			if m := regexp.MustCompile(`accuracy=(\S+)`).FindStringSubmatch(stdout.String()); command == "evaluate" && (m == nil || m[1] != "1") {
				t.Errorf("%s: expected accuracy 1: %s", c.want, stdout.String())
			}
		}
	}
}
