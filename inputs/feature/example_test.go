package feature_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
)

// people is a data set of three people.
func people() inputs.Dataset {
	ds, err := inputs.Slices(nil,
		inputs.Slice("age", inputs.Feature, []float32{17, 25, 40}),
		inputs.Strings("job", inputs.Feature, []string{"Sales", "", "Tech-support"}),
		inputs.Slice("label", inputs.Label, []int64{0, 1, 1}))
	if err != nil {
		log.Fatal(err)
	}
	return ds
}

func Example() {
	age := &feature.Numeric{Key: "age"}
	ages := &feature.Bucketized{Of: age, Boundaries: []float64{18, 25, 30}}
	job := &feature.HashBucket{Key: "job", Size: 10}
	plan, err := feature.New(feature.Columns{
		Linear: []feature.Column{ages, job, &feature.Crossed{Of: []feature.Column{ages, feature.Key("job")}, Size: 100}},
		Dense:  []feature.Column{age, &feature.Embedding{Of: job, Dimension: 4}},
	})
	if err != nil {
		log.Fatal(err)
	}

	// The host side: records of ids and numbers.
	ctx := context.Background()
	ds := inputs.Pipe(people(), inputs.Batch(3, false), plan.Transform(2), inputs.Prefetch(1))
	it, err := ds.Iterate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Release()
	for i, c := range ds.Schema().Columns() {
		fmt.Printf("%v: %v\n", c, rec.Column(i))
	}

	// The model side: what it reads, and its variables.
	linear, err := plan.Linear(1)
	if err != nil {
		log.Fatal(err)
	}
	for _, in := range linear {
		fmt.Println(in.Values, in.Combiner, in.Kernel.In(feature.LinearScope), in.Kernel.Shape)
	}
	for _, in := range plan.Dense() {
		fmt.Println(in)
	}
	// Output:
	// label int64 label: [0 1 1]
	// age_bucketized/ids int64[...] feature: [[0] [2] [3]]
	// age_bucketized_X_job/ids int64[...] feature: [[33] [9] [87]]
	// job/ids int64[...] feature: [[1] [] [3]]
	// age float32[1] feature: [[17] [25] [40]]
	// age_bucketized/ids sum linear/linear_model/age_bucketized/weights [4 1]
	// age_bucketized_X_job/ids sum linear/linear_model/age_bucketized_X_job/weights [100 1]
	// job/ids sum linear/linear_model/job/weights [10 1]
	// age: numbers of age
	// job_embedding: ids of job/ids, job_embedding/embedding_weights [10 4]
}

func ExampleBuild() {
	keep := 0.0
	set, err := feature.Build([]feature.Spec{
		{Type: "numeric", Key: "age", Default: &keep},
		{Type: "bucketized", Of: "age", Boundaries: []float64{18, 25, 30}},
		{Type: "hash_bucket", Key: "job", Buckets: 10},
		{Type: "embedding", Name: "deep job", Of: "job", Dimension: 4},
	})
	if err != nil {
		log.Fatal(err)
	}
	columns, err := set.Columns("age_bucketized", "deep job")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range columns {
		fmt.Println(c)
	}
	// Output:
	// bucketized(numeric(age, default=[0]), [18 25 30])
	// embedding(hash_bucket(job, 10), 4)
}

func ExamplePreprocess() {
	job := &feature.StringLookup{}
	ctx := context.Background()
	if err := job.Adapt(ctx, people(), "job", 0); err != nil {
		log.Fatal(err)
	}
	ds := inputs.Map(feature.Preprocess("job", job, &feature.CategoryEncoding{Tokens: 4}))(people())
	it, err := ds.Iterate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Release()
	fmt.Println(job.Vocabulary, rec.Column(ds.Schema().Index("job")))
	// Output:
	// [Tech-support Sales ] [[0 0 1 0] [0 0 0 1] [0 1 0 0]]
}
