package tabular_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

func ExampleRead() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "iris.csv")
	if err := os.WriteFile(path, []byte("width;place;species\n1,5;north;a\n2,5;south;b\n?;north;a\n"), 0o600); err != nil {
		panic(err)
	}
	p, err := tabular.Read(context.Background(), path, tabular.Options{Label: "species"})
	if err != nil {
		panic(err)
	}
	for _, c := range p.Columns {
		fmt.Println(c.Name, c.Kind, c.Missing)
	}
	fmt.Println(p.Label.Task, p.Label.Classes)
	// Output:
	// width number 1
	// place text 0
	// species text 0
	// binary classification [{a 2} {b 1}]
}
