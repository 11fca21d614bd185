package feature_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// relation is a user's Formula.
type relation struct {
	width int
	of    []feature.Dense
	f     func(of []expr.Expr) expr.Expr
}

func (c *relation) Name() string                     { return "relation" }
func (c *relation) String() string                   { return fmt.Sprintf("relation(%v)", c.of) }
func (c *relation) Width() int                       { return c.width }
func (c *relation) Of() []feature.Dense              { return c.of }
func (c *relation) Formula(of []expr.Expr) expr.Expr { return c.f(of) }

// initial is a user's Mapping: the first letter.
type initial struct {
	key     string
	buckets int
}

func (c initial) Name() string                    { return c.key + "_initial" }
func (c initial) String() string                  { return fmt.Sprintf("initial(%s, %d)", c.key, c.buckets) }
func (c initial) Buckets() int                    { return c.buckets }
func (c initial) Feature() (string, tensor.DType) { return c.key, tensor.String }
func (c initial) ID(value string) (int, error) {
	if value == "?" {
		return -1, nil
	}
	return int(value[0]) - 'A', nil
}

// sum is a Formula whose String leaves settings out.
type sum struct {
	name string
	of   *feature.Numeric
	more float64
}

func (c *sum) Name() string                     { return c.name }
func (c *sum) String() string                   { return "sum" }
func (c *sum) Width() int                       { return 1 }
func (c *sum) Of() []feature.Dense              { return []feature.Dense{c.of} }
func (c *sum) Formula(of []expr.Expr) expr.Expr { return of[0].Plus(c.more) }

// lists is a column whose values cannot be compared.
type lists struct {
	initial
	_ []int
}

// nothing is a column that is neither categorical nor dense.
type nothing struct{}

func (nothing) Name() string   { return "nothing" }
func (nothing) String() string { return "nothing" }

func ratio(of []expr.Expr) expr.Expr { return of[0].Div(of[1]).Plus(1) }

func oneRow(t *testing.T, job string, x, y float32) inputs.Dataset {
	t.Helper()
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, []float32{6, x}), inputs.Slice("y", inputs.Feature, []float32{3, y}),
		inputs.Strings("job", inputs.Feature, []string{"Box", job}))
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// transformed returns the columns of a record as texts.
func transformed(plan *feature.Plan, ds inputs.Dataset) (map[string]string, error) {
	ctx := context.Background()
	it, err := ds.Iterate(ctx)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	rec, err := it.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	made, err := plan.Apply(ctx, rec)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	out := map[string]string{}
	for i, f := range made.Schema().Fields() {
		out[f.Name] = fmt.Sprint(made.Column(i))
	}
	return out, nil
}

func TestOwnColumns(t *testing.T) {
	x, y := &feature.Numeric{Key: "x"}, &feature.Numeric{Key: "y"}
	r, letter := &relation{1, []feature.Dense{x, y}, ratio}, initial{"job", 26}
	plan, err := feature.New(feature.Columns{
		Linear: []feature.Column{letter, &feature.Crossed{Of: []feature.Column{letter, feature.Key("job")}, Size: 50}},
		Dense:  []feature.Column{r, &feature.Indicator{Of: initial{"job", 3}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := transformed(plan, oneRow(t, "?", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"relation": "[[3] [1.5]]", "job_initial/ids": "[[1] []]", "job_initial_indicator": "[[0 1 0] [0 0 0]]"} {
		if got[name] != want {
			t.Errorf("%s: got %s, expected %s", name, got[name], want)
		}
	}
	for want, ds := range map[string]inputs.Dataset{
		`expected one in [0, 26)`: oneRow(t, "~", 1, 2),
		`not a finite number`:     oneRow(t, "A", float32(math.MaxFloat32), 1e-30),
	} {
		_, err := transformed(plan, ds)
		var row *inputs.RowError
		if !errors.As(err, &row) || row.Row != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected an error of row 1 with %q", err, want)
		}
	}
}

// TestOwnColumnsOfOneDeclaration: equal columns are the same column; different columns need different declarations.
func TestOwnColumnsOfOneDeclaration(t *testing.T) {
	x, y := &feature.Numeric{Key: "x"}, &feature.Numeric{Key: "y"}
	wide := &feature.Crossed{Of: []feature.Column{initial{"job", 26}, feature.Key("job")}, Size: 50}
	if _, err := feature.New(feature.Columns{Linear: []feature.Column{wide}, Dense: []feature.Column{&feature.Indicator{Of: initial{"job", 26}}}}); err != nil {
		t.Errorf("equal columns: %v", err)
	}
	for _, other := range []*sum{{"x_and_more", x, 2}, {"x_and_1", y, 1}} {
		_, err := feature.New(feature.Columns{Dense: []feature.Column{&sum{"x_and_1", x, 1}, &feature.Bucketized{Of: x, Boundaries: []float64{1}}}, Linear: []feature.Column{other}})
		if err == nil || !strings.Contains(err.Error(), "expected that String tells them apart") {
			t.Errorf("%v: got %v, expected an error that says so", other, err)
		}
	}
}

func TestOwnColumnsRefused(t *testing.T) {
	x := &feature.Numeric{Key: "x"}
	for want, c := range map[string]feature.Column{
		"type with the methods of feature.Formula":       nothing{},
		"expected at least one dense column":             &relation{1, nil, ratio},
		"expected one width":                             &relation{2, []feature.Dense{x, x}, ratio},
		"expected columns of numbers":                    &relation{3, []feature.Dense{&feature.Embedding{Of: initial{"job", 26}, Dimension: 3}}, ratio},
		"depends on how examples are batched":            &relation{1, []feature.Dense{x}, func(of []expr.Expr) expr.Expr { return of[0].Norm() }},
		"reads none of its columns":                      &relation{1, []feature.Dense{x}, func([]expr.Expr) expr.Expr { return expr.Number(2) }},
		"unknown input":                                  &relation{1, []feature.Dense{x}, func(of []expr.Expr) expr.Expr { return of[0].Add(expr.Input("x")) }},
		"expected a finite one":                          &relation{1, []feature.Dense{x}, func(of []expr.Expr) expr.Expr { return of[0].Add(expr.Number(0).Log()) }},
		"is nil":                                         &relation{1, []feature.Dense{nil}, ratio},
		"make its pointer the column":                    &feature.Indicator{Of: lists{initial: initial{"job", 26}}},
		"must be at least 1, got 0":                      &feature.Indicator{Of: initial{"job", 0}},
		"no key":                                         &feature.Indicator{Of: initial{"", 5}},
		"expected a hash bucket, vocabulary or identity": &feature.Indicator{Of: &feature.Sequence{Of: initial{"job", 5}}},
	} {
		if _, err := feature.New(feature.Columns{Dense: []feature.Column{c}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected an error with %q", err, want)
		}
	}
}
