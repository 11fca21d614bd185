package inputs

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// column returns all values of a column in one pass.
func column[T tensor.Element](t *testing.T, ds Dataset, name string) []T {
	t.Helper()
	i := ds.Schema().Index(name)
	if i < 0 {
		t.Fatalf("no column %q in %s", name, ds.Schema())
	}
	it := iterate(t, ds)
	var out []T
	for {
		rec, err := it.Next(context.Background())
		if eof(err) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		ts, err := Tensors(rec, ds.Schema())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tensor.Values[T](ts[i].Tensor)...)
		rec.Release()
	}
}

func histogram(labels []int64) map[int64]int {
	h := map[int64]int{}
	for _, l := range labels {
		h[l]++
	}
	return h
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %g, expected %g", what, got, want)
	}
}

func TestFashionMNIST(t *testing.T) {
	testkit.NotConcurrent(t)
	dir := testkit.Shared(t, "data/fashion-mnist")
	mem := checked(t)
	ds, err := Open(context.Background(), Spec{Format: "idx", Images: filepath.Join(dir, "t10k-images-idx3-ubyte.gz"),
		Labels: filepath.Join(dir, "t10k-labels-idx1-ubyte.gz"), BatchSize: 500, Scale: 255, Prefetch: -1}, Context{Mode: Eval, Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); got != "image float32[28 28 1] feature, label int64 label" {
		t.Fatal(got)
	}
	labels := column[int64](t, ds, "label")
	for class, n := range histogram(labels) {
		if n != 1000 || class < 0 || class > 9 {
			t.Errorf("class %d has %d images", class, n)
		}
	}
	sum := 0.0
	for _, x := range column[float32](t, ds, "image") {
		sum += float64(x)
	}
	near(t, "mean pixel", sum/(10000*784), 0.28685)
}

func TestCIFAR10(t *testing.T) {
	testkit.NotConcurrent(t)
	dir := testkit.Shared(t, "data/cifar-10")
	ds, err := CIFAR10([]string{filepath.Join(dir, "test_batch.bin.gz")}, checked(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := histogram(column[int64](t, ds, "label")); ds.Len() != 10000 || n[0] != 1000 || n[9] != 1000 {
		t.Fatalf("%d images, labels %v", ds.Len(), n)
	}
	var sum [3]float64
	for i, x := range column[uint8](t, ds, "image") {
		sum[i%3] += float64(x)
	}
	for c, want := range []float64{0.49421428, 0.48513139, 0.45040909} { // published means of the test set
		near(t, "channel mean", sum[c]/(255*1024*10000), want)
	}
}

func TestIris(t *testing.T) {
	spec := Spec{Format: "csv", Files: []string{testkit.Shared(t, "data/iris/iris.data")}, Columns: []ColumnSpec{
		{Name: "sepal_length"}, {Name: "sepal_width"}, {Name: "petal_length"}, {Name: "petal_width"},
		{Name: "species", Role: Label, Vocabulary: []string{"Iris-setosa", "Iris-versicolor", "Iris-virginica"}},
	}, BatchSize: 30, Shuffle: 150, Repeat: true, Split: SplitSpec{Folds: 5, Part: "train"}, Prefetch: -1}
	mem := checked(t)
	train, err := Open(context.Background(), spec, Context{Mode: Train, Seed: 7, Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	it := iterate(t, train)
	seen := drain(t, it, train.Schema(), 8) // two epochs of 120
	if len(seen) != 8 {
		t.Fatalf("got %d batches", len(seen))
	}
	state, err := it.State()
	if err != nil || len(state) > 2000 {
		t.Fatalf("state of %d bytes: %v", len(state), err)
	}
	spec.Split.Part, spec.Shuffle, spec.Repeat = "eval", 0, false
	eval, err := Open(context.Background(), spec, Context{Mode: Eval, Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	if n := histogram(column[int64](t, eval, "species")); n[0] != 10 || n[1] != 10 || n[2] != 10 {
		t.Errorf("held-out classes: %v", n)
	}
	if x := column[float32](t, eval, "sepal_length"); len(x) != 30 || x[0] != 5.1 || x[1] != 5.4 {
		t.Errorf("held-out sepal lengths: %v", x[:2])
	}
	predict, err := Open(context.Background(), spec, Context{Mode: Predict, Allocator: mem})
	if err != nil || predict.Schema().Index("species") >= 0 {
		t.Errorf("to predict: %v, %v", predict.Schema(), err)
	}
}

func TestHousing(t *testing.T) {
	testkit.NotConcurrent(t)
	file := testkit.Shared(t, "data/california-housing/housing.csv.gz")
	o := CSVOptions{Header: true, Allocator: checked(t), Columns: []ColumnSpec{
		{Name: "median_house_value", DType: "float64", Role: Label}, {Name: "total_bedrooms", Default: -1},
		{Name: "ocean_proximity", Vocabulary: []string{"<1H OCEAN", "INLAND", "NEAR OCEAN", "NEAR BAY"}},
	}}
	ds, err := CSV([]string{file}, o)
	if err != nil {
		t.Fatal(err)
	}
	sum, blanks := 0.0, 0
	values := column[float64](t, ds, "median_house_value")
	for _, v := range values {
		sum += v
	}
	for _, v := range column[float32](t, ds, "total_bedrooms") {
		if v == -1 {
			blanks++
		}
	}
	near(t, "mean value", sum/float64(len(values)), 206855.82)
	n := histogram(column[int64](t, ds, "ocean_proximity"))
	if len(values) != 20640 || blanks != 207 || n[0] != 9136 || n[3] != 2290 || n[-1] != 5 {
		t.Errorf("%d rows, %d blanks, %v", len(values), blanks, n)
	}
}

func TestAdultAndTitanic(t *testing.T) {
	mem := checked(t)
	var columns []ColumnSpec
	for _, name := range []string{"age", "workclass", "fnlwgt", "education", "education-num", "marital", "occupation", "relationship",
		"race", "sex", "gain", "loss", "hours", "country"} {
		columns = append(columns, ColumnSpec{Name: name, DType: "string", Default: "none"})
	}
	columns[0] = ColumnSpec{Name: "age", DType: "int64"}
	columns = append(columns, ColumnSpec{Name: "income", Role: Label, Vocabulary: []string{"<=50K.", ">50K."}})
	ds, err := CSV([]string{testkit.Shared(t, "data/adult/adult.test.gz")}, CSVOptions{Columns: columns, MissingValues: []string{"?"}, Comment: "|", Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	if n := histogram(column[int64](t, ds, "income")); n[0] != 12435 || n[1] != 3846 {
		t.Errorf("adult: %v", n)
	}
	ds, err = CSV([]string{testkit.Shared(t, "data/titanic/titanic3.csv")}, CSVOptions{Header: true, Allocator: mem, Columns: []ColumnSpec{
		{Name: "name", DType: "string"}, {Name: "survived", DType: "int64", Role: Label}, {Name: "age", Default: math.NaN()}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := histogram(column[int64](t, ds, "survived")); n[0] != 809 || n[1] != 500 {
		t.Errorf("titanic: %v", n)
	}
}
