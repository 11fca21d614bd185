package export_test

import (
	"fmt"
	"log"
	"maps"
	"os"
	"slices"

	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Export a model, and read its signatures back.
func Example() {
	base, err := os.MkdirTemp("", "models")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(base)
	m := newToy()
	dir, err := export.SavedModel(atomicfile.OS{}, base, m.model(m.graph(export.Parsing(), m.predicting("predict"))), export.Options{})
	if err != nil {
		log.Fatal(err)
	}
	read, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	g, err := read.MetaGraph(savedmodel.TagServe)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Signatures)) {
		s := g.Signatures[name]
		fmt.Println(name, s.GetMethodName(), slices.Sorted(maps.Keys(s.GetInputs())), "->", slices.Sorted(maps.Keys(s.GetOutputs())))
	}
	// Output:
	// predict tensorflow/serving/predict [examples] -> [best digit sum word]
	// serving_default tensorflow/serving/predict [examples] -> [best digit sum word]
}
