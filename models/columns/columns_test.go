package columns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/columns"
	"github.com/goestimator/goestimator/tensor"
)

// build runs fn on features that are a plan's outputs.
func build(t *testing.T, c feature.Columns, fn func(b *models.Builder, f models.Features, p *feature.Plan)) (*models.Builder, error) {
	t.Helper()
	plan, err := feature.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return models.Build(models.Options{Mode: models.Train, Batch: 3, Seed: 1, DType: tensor.Float32}, func(b *models.Builder) error {
		one := models.RaggedSize{Capacity: 1, Length: 1}
		f := models.NewFeatures(b,
			models.Feature{Name: "age", Dense: b.Input("age", tensor.Float32, 3, 2)},
			models.Feature{Name: "job/ids", Ragged: b.Ragged("job/ids", tensor.Int64, one)},
			models.Feature{Name: "home/ids", Ragged: b.Ragged("home/ids", tensor.Int64, one)})
		fn(b, f, plan)
		return b.Err()
	})
}

func hash(key string) *feature.HashBucket { return &feature.HashBucket{Key: key, Size: 5} }

func TestInputLayer(t *testing.T) {
	shared := feature.SharedEmbeddings([]feature.Categorical{hash("job"), hash("home")}, feature.Embedding{Dimension: 4, Frozen: true})
	c := feature.Columns{Dense: append(shared, &feature.Numeric{Key: "age", Shape: []int{2}}, &feature.Embedding{Of: hash("job"), Dimension: 3})}
	b, err := build(t, c, func(b *models.Builder, f models.Features, p *feature.Plan) {
		x := columns.InputLayer(b, f, p.Dense(), feature.DenseScope)
		if x == nil || x.Shape()[0] != 3 || x.Shape()[1] != 2+3+4+4 {
			t.Errorf("input layer: got %v, expected [3 13]: %v", x, b.Err())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	trained := map[string]bool{}
	for _, v := range b.Variables() {
		trained[v.Name] = v.Trainable
	}
	own := feature.DenseScope + "/job_embedding/embedding_weights"
	if len(trained) != 2 || !trained[own] || trained["home_job_shared_embedding"] {
		t.Errorf("variables %v: expected %s, and home_job_shared_embedding, which is frozen, once", trained, own)
	}
}

// A linear model may have an embedding; a kernel then follows its rows.
func TestLinearModelOfEmbeddings(t *testing.T) {
	c := feature.Columns{Linear: []feature.Column{&feature.Embedding{Of: hash("job"), Dimension: 3}, hash("home")}}
	b, err := build(t, c, func(b *models.Builder, f models.Features, p *feature.Plan) {
		in, err := p.Linear(2)
		if err != nil {
			t.Fatal(err)
		}
		if y := columns.LinearModel(b, f, in, 2, "wide"); y == nil || y.Shape()[1] != 2 {
			t.Errorf("linear model: got %v, expected [3 2]", y)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range b.Variables() {
		names = append(names, v.Name)
	}
	if got := strings.Join(names, " "); got != "wide/home/weights wide/job_embedding/embedding_weights wide/job_embedding/weights wide/bias_weights" {
		t.Errorf("variables %s", got)
	}
}

// A table may start from a tensor of a checkpoint.
func TestTableFromACheckpoint(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "model.ckpt-1")
	w, err := bundle.NewWriter(atomicfile.OS{}, prefix, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(tensor.Float32, 5, 2)
	for i := range tensor.Values[float32](x) {
		tensor.Values[float32](x)[i] = float32(i)
	}
	if err := w.Add("old/table", x); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	e := &feature.Embedding{Of: hash("job"), Dimension: 2, Checkpoint: prefix, Tensor: "old/table"}
	b, err := build(t, feature.Columns{Dense: []feature.Column{e}}, func(b *models.Builder, f models.Features, p *feature.Plan) {
		columns.InputLayer(b, f, p.Dense(), feature.DenseScope)
	})
	if err != nil {
		t.Fatal(err)
	}
	v := b.Variables()[0]
	got := tensor.New(tensor.Float32, 5, 2)
	if err := v.Init.Init(got, 1); err != nil || got.Float(7) != 7 {
		t.Errorf("element 7 is %v (%v), expected the checkpoint's 7", got.Float(7), err)
	}
	if err := v.Init.Init(tensor.New(tensor.Float32, 4, 2), 1); err == nil || !strings.Contains(err.Error(), "old/table: expected float32[4 2], got float32[5 2]") {
		t.Errorf("another shape: got %v", err)
	}
	if err := os.Remove(bundle.IndexPath(prefix)); err != nil {
		t.Fatal(err)
	}
	if err := v.Init.Init(got, 1); err == nil || !strings.Contains(err.Error(), prefix) {
		t.Errorf("without the checkpoint: got %v", err)
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func(b *models.Builder, f models.Features)
		want string
	}{
		"no columns":        {func(b *models.Builder, f models.Features) { columns.InputLayer(b, f, nil, "") }, "no columns"},
		"no linear columns": {func(b *models.Builder, f models.Features) { columns.LinearModel(b, f, nil, 1, "") }, "no columns"},
		"ids alone": {func(b *models.Builder, f models.Features) {
			columns.InputLayer(b, f, []feature.Input{{Column: "job", Kind: feature.IDs, Values: "job/ids"}}, "")
		}, "column job: ids have no dense form"},
		"no weights": {func(b *models.Builder, f models.Features) {
			columns.LinearModel(b, f, []feature.Input{{Column: "job", Kind: feature.IDs, Values: "job/ids"}}, 1, "")
		}, "column job: it has no weights"},
		"no feature": {func(b *models.Builder, f models.Features) {
			columns.InputLayer(b, f, []feature.Input{{Column: "size", Kind: feature.Numbers, Values: "size"}}, "")
		}, `no dense feature "size"`},
	} {
		_, err := build(t, feature.Columns{Linear: []feature.Column{hash("job")}}, func(b *models.Builder, f models.Features, _ *feature.Plan) { c.fn(b, f) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %q", name, err, c.want)
		}
	}
}
