package report_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/internal/format/summary"
)

// The page of a model_dir with one learning curve.
func ExampleCollect() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if _, err := report.Collect(dir); errors.Is(err, report.ErrNothing) {
		fmt.Println("an empty folder:", report.ErrNothing)
	}

	w := summary.NewFileWriter(dir, summary.Options{})
	if err := errors.Join(w.Scalar(1, "loss", 0.75), w.Scalar(2, "loss", 0.5), w.Close()); err != nil {
		log.Fatal(err)
	}
	r, err := report.Collect(dir)
	if err != nil {
		log.Fatal(err)
	}
	var page strings.Builder
	if err := r.Write(&page); err != nil {
		log.Fatal(err)
	}
	fmt.Println("runs:", len(r.Events), "curves:", strings.Count(page.String(), `draw("scalar`))
	// Output:
	// an empty folder: nothing to report
	// runs: 1 curves: 1
}
