package savedmodel_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Publish a model as a version in a base directory, and read it.
func Example() {
	base, err := os.MkdirTemp("", "models")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	dir, err := savedmodel.Write(atomicfile.OS{}, base, 1700000000, savedmodel.Writing{MetaGraphs: small().MetaGraphs})
	if err != nil {
		log.Fatal(err)
	}
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	g, err := m.MetaGraph(savedmodel.TagServe)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(m.Dir), m.Tags(), g.Signatures[savedmodel.DefaultSignature].GetMethodName())
	// Output:
	// 1700000000 [[serve]] tensorflow/serving/predict
}
