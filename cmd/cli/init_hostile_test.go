package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
)

// TestHostileTable: names and values in a table cannot send control characters to a terminal, forge lines, or add keys to a config.
func TestHostileTable(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := os.Create("t.csv")
	if err != nil {
		t.Fatal(err)
	}
	label := "y\x1b[2J"
	w := csv.NewWriter(f)
	_ = w.Write([]string{"x\x1b]0;title\x07", "id\nseed: 7 #", "same\u2028seed: 8", "leak\rseed: 9", label}) // Error reports it below
	for i := range 200 {
		_ = w.Write([]string{fmt.Sprint(i * 37 % 100), fmt.Sprintf("n%d", i), "\x1b[31m", []string{"a\x07", "b"}[i%2], []string{"yes\x1b[31m", "no\nseed: 10 #"}[i%2]})
	}
	if w.Flush(); w.Error() != nil || f.Close() != nil {
		t.Fatal(w.Error())
	}
	for _, args := range [][]string{{"data", "describe", "t.csv", "--label", label}, {"init", "t.csv", "--label", label, "--no-search"}} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), args, &out, &errs); code != 0 {
			t.Fatalf("%q: code %d, %s", args, code, errs.String())
		}
		for _, line := range strings.Split(out.String()+errs.String(), "\n") {
			if strings.HasPrefix(line, "seed") || strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("%s shows %q", args[0], line)
			}
		}
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"train", "--config", "config.yaml", "--set", "train.max_steps=1"}, &out, &errs); code != 0 {
		t.Errorf("the config that was written: code %d, %s", code, errs.String())
	}
	text, err := os.ReadFile("config.yaml")
	if n := strings.Count("\n"+string(text), "\nseed:"); n != 1 || err != nil {
		t.Errorf("the config has %d seeds, %v:\n%s", n, err, text)
	}
}
