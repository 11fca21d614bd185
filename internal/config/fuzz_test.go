package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/internal/testkit"
)

// FuzzConfigFile: any file gives an error, or a config that is written and read
// back the same; never a panic.
func FuzzConfigFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(), "configs", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("model: {params: {a.b: [1.0, {C: ~}], d: 2024-01-02}}\nseed: 1e3")
	f.Add("train.max_steps: 5\nTRAIN: {Input: {files: [a]}}")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := loadText(text, nil, nil)
		if err != nil {
			return
		}
		out, err := cfg.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadText(string(out), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if d := cmp.Diff(cfg, again, sameConfig); d != "" {
			t.Errorf("(-first +again):\n%s\n%s", d, out)
		}
	})
}

// FuzzSet: any --set argument gives a config or an error, never a panic.
func FuzzSet(f *testing.F) {
	for key, values := range validSets {
		f.Add(key + "=" + values[0])
	}
	f.Fuzz(func(t *testing.T, arg string) {
		cfg, err := loadText("model: {params: {a: 1}}\noptimizer: {learning_rate: 0.1}", nil, []string{arg})
		if (cfg == nil) == (err == nil) {
			t.Errorf("config %v, error %v", cfg, err)
		}
	})
}
