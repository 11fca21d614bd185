package compat

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/config"
	"go.yaml.in/yaml/v3"
)

// TestConfigs loads each file of configs, and the version with all values that the earlier commit wrote. Both must result
// in the values of that commit. Keys added since then are ignored.
func TestConfigs(t *testing.T) {
	files, err := filepath.Glob("../../configs/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d configs, want at least 9 (%v)", len(files), err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			written := filepath.Join(testdata, "configs", name)
			if *rewrite {
				if err := os.WriteFile(written, resolved(t, path), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(written)
			if os.IsNotExist(err) {
				t.Skip("skipped: a config that is new since then")
			}
			if err != nil {
				t.Fatal(err)
			}
			want := parsed(t, text)
			if run, ok := want["run"].(map[string]any); ok {
				delete(run, "blas") // had no effect, and is ignored
			}
			contains(t, name, want, parsed(t, resolved(t, path)))
			contains(t, "testdata/configs/"+name, want, parsed(t, resolved(t, written)))
		})
	}
}

// resolved returns the config that results from a file, with all values.
func resolved(t *testing.T, path string) []byte {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Path: path, Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parsed(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// contains reports the values of want that got does not contain.
func contains(t *testing.T, key string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, _ := got.(map[string]any)
		for k, v := range want {
			contains(t, key+"."+k, v, m[k])
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			t.Errorf("%s: %v, want %v", key, got, want)
			return
		}
		for i, v := range want {
			contains(t, key+"."+strconv.Itoa(i), v, list[i])
		}
	default:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}
