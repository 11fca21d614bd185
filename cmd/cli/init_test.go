package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
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
