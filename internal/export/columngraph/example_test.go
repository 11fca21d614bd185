package columngraph_test

import (
	"fmt"
	"log"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/tensor"
)

// The columns as part of an exported graph that reads serialized examples.
func Example() {
	job := &feature.Vocabulary{Key: "job", Values: []string{"Sales", "Tech-support"}, OOVBuckets: 1}
	plan, err := feature.New(feature.Columns{Dense: []feature.Column{&feature.Numeric{Key: "age"}, &feature.Embedding{Of: job, Dimension: 4}}})
	if err != nil {
		log.Fatal(err)
	}
	specs, err := plan.ExampleSpecs()
	if err != nil {
		log.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	examples := b.Placeholder("examples", graph.Type{DType: tensor.String, Shape: graph.BatchOf()})
	raw, err := columngraph.Parse(b, examples, specs)
	if err != nil {
		log.Fatal(err)
	}
	e, err := columngraph.Emit(plan, b, raw)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Outputs["age"].Dense.Type())
	fmt.Println(e.Outputs["job/ids"].Values.Type(), e.Outputs["job/ids"].Offsets.Type())
	for _, n := range e.Init {
		fmt.Println(n.Op, n.Name)
	}
	// Output:
	// {float32 [B,1]}
	// {int64 [?]} {int64 [B+1]}
	// LookupTableImportV2 feature_columns/job/table_init
}
