package layers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage: docs/migrate-keras.md names all layers and losses.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate-keras.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.go", "../losses/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range tree.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !f.Name.IsExported() || !onNodes(f) || f.Name.Name == "Weighted" {
					continue
				}
				if name := f.Name.Name; !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), "."+name+"`") {
					t.Errorf("docs/migrate-keras.md does not name %s of %s", name, file)
				}
			}
		}
	}
}

// onNodes reports whether a function begins with a models.Context.
func onNodes(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	s, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Context"
}
