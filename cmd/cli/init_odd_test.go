package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// TestInitOddTables: each table is odd in one way. It can be trained on, evaluated, exported and predicted, or the error says what to do.
func TestInitOddTables(t *testing.T) {
	lines := func(header, sep string, row func(r int) []string) string {
		var b strings.Builder
		b.WriteString(header)
		for r := range 60 {
			b.WriteString(strings.Join(row(r), sep) + "\n")
		}
		return b.String()
	}
	plain := func(r int) []string {
		return []string{fmt.Sprint(r * 7 % 50), fmt.Sprint(r%9) + ".5", []string{"a", "b"}[r%3%2]}
	}
	with := func(at int, f func(r int) string) func(int) []string {
		return func(r int) []string { row := plain(r); row[at] = f(r); return row }
	}
	for _, c := range []struct{ name, file, text, label, refused string }{
		{"byte order mark", "t.csv", "\ufeff" + lines("a,b,y\n", ",", plain), "y", ""},
		{"tabs and CRLF", "t.tsv", strings.ReplaceAll(lines("a\tb\ty\n", "\t", plain), "\n", "\r\n"), "y", ""},
		{"bars", "t.csv", lines("a|b|y\n", "|", plain), "y", ""},
		{"aligned by spaces", "t.data", lines("", "  ", plain), "column3", ""},
		{"words among numbers", "t.csv", lines("a,b,y\n", ",", with(1, func(r int) string { return either(r%3 == 0, "unknown", fmt.Sprint(r, ".5")) })), "y", ""},
		{"no header", "t.csv", lines("", ",", plain), "column3", ""},
		{"lines in quotes", "t.csv", lines("a,b,y\n", ",", with(1, func(r int) string { return fmt.Sprintf("\"x\n\"\"%d\"\"\"", r%3) })), "y", ""},
		{"name of the label", "t.csv", lines("a,b,\"größe, \"\"日本\"\"\"\n", ",", plain), `größe, "日本"`, ""},
		{"names of YAML", "t.csv", lines("- a,\"{b: #\",y\n", ",", plain), "y", ""},
		{"names twice", "t.csv", lines("a,a,y\n", ",", plain), "y", "another column has this name: rename one of them"},
		{"column without values", "t.csv", lines("a,b,y\n", ",", with(0, func(int) string { return "" })), "y", ""},
		{"truth values", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return fmt.Sprint(r%3 == 0) })), "y", ""},
		{"a class of one row", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return []string{"rare", "a", "b"}[min(r, 1+r%2)] })), "y", ""},
		{"decimal commas", "t.csv", lines("a;b;y\n", ";", with(2, func(r int) string { return fmt.Sprintf("%d,%d", r*7%50, r%10) })), "y", ""},
		{"decimal commas in quotes", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return fmt.Sprintf("\"%d,%d\"", r*7%50, r%10) })), "y", ""},
		{"infinite numbers", "t.csv", lines("a,b,y\n", ",", with(0, func(r int) string { return []string{"inf", "1e999", fmt.Sprint(r)}[r%3] })), "y", ""},

		{"UTF-16", "t.csv", "\xff\xfea\x00,\x00y\x00\n\x00", "y", "iconv -f utf-16 -t utf-8"},
		{"label alone", "t.csv", "y\n" + strings.Repeat("a\nb\n", 20), "y", "has the label alone"},
		{"label twice", "t.csv", lines("a,y,y\n", ",", plain), "y", "rename one of them"},
		{"one class", "t.csv", lines("a,b,y\n", ",", with(2, func(int) string { return "a" })), "y", "there is nothing to learn"},
		{"two rows", "t.csv", "a,y\n1,a\n2,b\n", "y", "expected at least 10"},
		{"label missing", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return []string{"a", "b", ""}[r%3] })), "y", ""},
		{"label of numbers missing", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return either(r%4 == 1, "NA", fmt.Sprint(r, ".5")) })), "y", ""},
		{"label of prices missing", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return either(r%4 == 1, "", fmt.Sprint("$", r, ".5")) })), "y", "missing in 15 of 60 rows: remove these rows"},
		{"label of few rows", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return either(r > 8, "", fmt.Sprint("k", r%2)) })), "y", "has 9 rows with a label"},
		{"label of dates", "t.csv", lines("a,b,y\n", ",", with(2, func(r int) string { return fmt.Sprintf("2024-01-%02d", r%28+1) })), "y", "kind date"},
		{"numbers of twelve rows", "t.csv", "a,y\n1,1.5\n2,2.5\n3,3\n4,4.5\n5,5.5\n6,7\n7,7\n8,8\n9,9\n10,10.5\n11,11\n12,12\n", "y", ""},
		{"a line too short", "t.csv", lines("a,b,y\n", ",", plain) + "3,4\n", "y", "line 62 has 2 cells"},
		{"a comment", "t.csv", "# of 2024\n" + lines("a,b,y\n", ",", plain), "y", "remove the lines above the names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			table, config := filepath.Join(dir, c.file), filepath.Join(dir, "config.yaml")
			if err := os.WriteFile(table, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			few := []string{"--config", config, "--set", "model.params.n_trees=2"}
			for _, command := range [][]string{
				{"init", table, "--label", c.label, "--no-search", "--out", config, "--model-dir", filepath.Join(dir, "model")},
				append([]string{"train"}, few...), append([]string{"evaluate"}, few...),
				append([]string{"predict", "--input", table, "--output", filepath.Join(dir, "p.csv")}, few...),
			} {
				var stdout, stderr bytes.Buffer
				code := Run(t.Context(), command, &stdout, &stderr)
				if c.refused != "" && command[0] == "init" {
					if code == 0 || !strings.Contains(stderr.String(), c.refused) {
						t.Fatalf("exit code %d, expected %q: %s", code, c.refused, stderr.String())
					}
					return
				}
				if code != 0 {
					t.Fatalf("%s: exit code %d: %s", command[0], code, stderr.String())
				}
			}
		})
	}
}
