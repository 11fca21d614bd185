package inputs

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/tensor"
)

// TestMapOfInvalidPipeline: the schema is the mapper's, so that the reported error is the pipeline's.
func TestMapOfInvalidPipeline(t *testing.T) {
	ds, err := Slices(nil, Slice("x", Feature, []float32{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	after, err := NewSchema(Column{Name: "y", DType: tensor.Float32})
	if err != nil {
		t.Fatal(err)
	}
	mapped := Pipe(ds, Shard(1, 1), Map(Mapper{Name: "m", Schema: func(*Schema) (*Schema, error) { return after, nil },
		Map: func(context.Context, arrow.Record, Rows) (arrow.Record, error) { return nil, nil }}))
	if mapped.Schema().Index("y") != 0 {
		t.Errorf("the schema is %v, expected the mapper's", mapped.Schema())
	}
	if _, err := mapped.Iterate(t.Context()); err == nil || !strings.Contains(err.Error(), "shard index must lie in [0, 1), got 1") {
		t.Errorf("got %v, expected the error of Shard", err)
	}
}
