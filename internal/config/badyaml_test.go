package config

import (
	"os"
	"testing"
)

// TestBadYAML: an invalid config file is reported in one line, in the words of
// YAML.
func TestBadYAML(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ text, want string }{
		{"train: {input: {format: glyphs}\n", "line 1: did not find expected ',' or '}'"},
		{"train:\n\tmax_steps: 3\n", "line 2: found character that cannot start any token (line 2 begins with a tab, expected spaces)"},
		{"- model_dir: x\n", "expected keys with values, such as model_dir: runs/first"},
		{"just words\n", "expected keys with values, such as model_dir: runs/first"},
		{"seed: 1\nseed: 2\n", `line 2: mapping key "seed" already defined at line 1`},
		{"a: *b\n", "unknown anchor 'b' referenced"},
	} {
		if err := os.WriteFile("t.yaml", []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(LoadOptions{Path: "t.yaml", Env: []string{}})
		if want := "config file t.yaml: " + c.want; err == nil || err.Error() != want {
			t.Errorf("%q: got  %v\nwant %s", c.text, err, want)
		}
	}
}
