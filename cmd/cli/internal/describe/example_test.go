package describe_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/cmd/cli/internal/describe"
	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// A table of three rows.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "describe")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pets.csv")
	if err := os.WriteFile(path, []byte("kind,weight\ncat,4\ndog,\ncat,5\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	p, err := tabular.Read(context.Background(), path, tabular.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range describe.New(p).Columns {
		fmt.Println(c.Name, c.Kind, c.Missing, c.Distinct, c.Top)
	}
	// Output:
	// kind text 0 2 [{cat 2} {dog 1}]
	// weight number 1 2 [{4 1} {5 1}]
}
