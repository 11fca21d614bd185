package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInitHugeLabels: models learn labels whose squares overflow or underflow a float32, and missing numbers that behave like large ones.
func TestInitHugeLabels(t *testing.T) {
	for _, unit := range []string{"e30", "e-30"} {
		table := tableFile(t, "x,y", 300, func(r int) string {
			x := r * 7 % 30
			if x >= 20 { // labels are large for these and for missing numbers
				return fmt.Sprintf("%s,3%s", []string{"", strconv.Itoa(x)}[r%2], unit)
			}
			return fmt.Sprintf("%d,1%s", x, unit)
		})
		_, config := initOf(t, table, "--label", "y", "--no-search", "--task", "regression")
		if !strings.Contains(config, "missing: largest") {
			t.Fatalf("no column of missing numbers as large ones:\n%s", config)
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		for _, command := range [][]string{{"train", "--config", path, "--set", "model.params.max_depth=1"}, {"evaluate", "--config", path, "--set", "model.params.max_depth=1"}} {
			var stderr bytes.Buffer
			if stdout.Reset(); Run(t.Context(), command, &stdout, &stderr) != 0 {
				t.Fatalf("%s: %s", command[0], stderr.String())
			}
		}
		m := regexp.MustCompile(`rmse=(\S+)`).FindStringSubmatch(stdout.String())
		if m == nil {
			t.Fatalf("no rmse: %s", stdout.String())
		}
		scale, _ := strconv.ParseFloat("1"+unit, 64)
		if rmse, err := strconv.ParseFloat(m[1], 64); err != nil || !(rmse < 0.1*scale) {
			t.Errorf("rmse %v of labels of 1%s and 3%s, expected nearly 0: a tree of one split puts missing numbers to the large ones", m[1], unit, unit)
		}
	}
}
