package snippets

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/config"
	"go.yaml.in/yaml/v3"
)

// TestYAML checks that the config snippets on the pages load: the keys exist and the values have their types. They may be incomplete.
func TestYAML(t *testing.T) {
	var pages []string
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, path)
		blocks, err := Blocks(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, b := range blocks {
			if b.Language != "yaml" || b.Skip != "" {
				continue
			}
			if err := loads(t, b.Text); err != nil {
				t.Errorf("%s:%d: %v", name, b.Line, err)
			}
			loaded++
		}
	}
	if loaded == 0 {
		t.Error("no page has YAML")
	}
}

// loads loads a block as a config. Kubernetes objects need only be valid YAML.
func loads(t *testing.T, text string) error {
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return err
	}
	if object["apiVersion"] != nil {
		return nil
	}
	path := filepath.Join(t.TempDir(), "block.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	_, err := config.Load(config.LoadOptions{Path: path, Env: []string{}})
	if err != nil && strings.HasSuffix(err.Error(), "block.yaml: empty") {
		return nil
	}
	return err
}
