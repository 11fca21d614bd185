package feature

import (
	"fmt"
	"math"
	"strconv"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
	"github.com/goestimator/goestimator/tensor"
)

// Numeric is numeric_column: numbers as float32.
type Numeric struct {
	Key        string
	Shape      []int // of one example; empty: [1]
	Default    []float32
	Normalizer Normalizer
	AllowNaN   bool // NaN and infinite numbers pass instead of being an inputs.RowError
	FillNaN    bool // NaN counts as missing and is replaced by Default, which must be set
	// Read says how to read texts as numbers; its zero value is for features that are numbers. A text of another
	// form is NaN.
	Read Reading
	// Alias replaces the usual name, so that two columns can read a feature in different ways.
	Alias string
}

// Normalizer is a numeric column's normalizer_fn as data, applied in this order:
// x / Scale, the logarithm, (x - Mean) / Std, Func. Its zero value does nothing.
type Normalizer struct {
	Scale float32 // 0: 1
	Log   bool
	Mean  []float32 // one value, or one for each number of an example; empty: 0
	Std   []float32 // likewise; empty: 1
	// Func changes the numbers of whole examples in place. It is called
	// concurrently, with any part of the data. Name distinguishes it from other functions.
	Func func(x []float32)
	Name string
}

// Name is the alias or the key; for a part of a date, the key and the part.
func (c *Numeric) Name() string {
	if c.Alias != "" {
		return c.Alias
	}
	if p := c.Read.Part; p != "" && p != string(textvalue.Number) {
		return c.Key + "_" + p
	}
	return c.Key
}

// Width is the number of numbers per example.
func (c *Numeric) Width() int { return shapeSize(c.Shape) }

// String is like numeric(age) or numeric(age, shape=[2], log, mean=[1], std=[2]).
func (c *Numeric) String() string {
	s := "numeric(" + c.Key + shapeText(c.Shape)
	if c.Default != nil {
		s += fmt.Sprintf(", default=%v", c.Default)
	}
	if c.Read.Part != "" {
		s += ", read=" + c.Read.String()
	}
	if c.FillNaN {
		s += ", fill_nan"
	}
	if c.AllowNaN {
		s += ", allow_nan"
	}
	return s + c.Normalizer.String() + ")"
}

func shapeSize(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func shapeText(shape []int) string {
	if shapeSize(shape) == 1 {
		return ""
	}
	return fmt.Sprintf(", shape=%v", shape)
}

// String lists the steps of the normalizer, each after a comma.
func (n Normalizer) String() string {
	s := ""
	if n.Scale != 0 && n.Scale != 1 {
		s += fmt.Sprintf(", scale=%g", n.Scale)
	}
	if n.Log {
		s += ", log"
	}
	if len(n.Mean) > 0 {
		s += fmt.Sprintf(", mean=%v", n.Mean)
	}
	if len(n.Std) > 0 {
		s += fmt.Sprintf(", std=%v", n.Std)
	}
	if n.Func != nil {
		s += ", func=" + n.Name
	}
	return s
}

func (n Normalizer) check(size int) error {
	if n.Scale < 0 || n.Scale != n.Scale {
		return fmt.Errorf("scale must be positive, got %g: it is a divisor", n.Scale)
	}
	if l := len(n.Mean); l > 1 && l != size {
		return fmt.Errorf("mean has %d values, expected 1 or %d, one for each number of an example", l, size)
	}
	if l := len(n.Std); l > 1 && l != size {
		return fmt.Errorf("std has %d values, expected 1 or %d, one for each number of an example", l, size)
	}
	for _, s := range n.Std {
		if s == 0 || s != s {
			return fmt.Errorf("std must not be 0, got %v", n.Std)
		}
	}
	if n.Func != nil && n.Name == "" {
		return fmt.Errorf("a normalizer func needs a name, which becomes part of the pipeline's description: set Normalizer.Name")
	}
	return nil
}

// apply changes x, examples with size numbers each.
func (n Normalizer) apply(x []float32, size int) {
	if n.Scale != 0 && n.Scale != 1 {
		for i := range x {
			x[i] /= n.Scale
		}
	}
	if n.Log {
		for i, v := range x {
			x[i] = float32(math.Log(float64(v)))
		}
	}
	if len(n.Mean) > 0 || len(n.Std) > 0 {
		mean, std := spread(n.Mean, 0, size), spread(n.Std, 1, size)
		for i := range x {
			x[i] = (x[i] - mean[i%size]) / std[i%size]
		}
	}
	if n.Func != nil {
		n.Func(x)
	}
}

// spread repeats a single value for size numbers; an empty v gives none.
func spread(v []float32, none float32, size int) []float32 {
	if len(v) == size {
		return v
	}
	if len(v) == 1 {
		none = v[0]
	}
	out := make([]float32, size)
	for i := range out {
		out[i] = none
	}
	return out
}

func checkShape(shape []int) error {
	n := 1
	for _, d := range shape {
		if d <= 0 || n > 1<<24/d {
			return fmt.Errorf("shape must have positive dimensions, at most 2^24 numbers in all, got %v", shape)
		}
		n *= d
	}
	return nil
}

func (c *Numeric) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if err := checkShape(c.Shape); err != nil {
		return err
	}
	if l := len(c.Default); l > 1 && l != c.Width() {
		return fmt.Errorf("default has %d values, expected 1 or %d, the numbers of an example", l, c.Width())
	}
	if c.FillNaN && len(c.Default) == 0 {
		return fmt.Errorf("NaN counts as missing, and nothing stands for it: set Default")
	}
	if err := c.Read.check(c.Width()); err != nil {
		return err
	}
	return c.Normalizer.check(c.Width())
}

func (c *Numeric) parents() []Column { return nil }

func (c *Numeric) reads() []read {
	shape := c.Shape
	if len(shape) == 0 {
		shape = []int{1}
	}
	if c.Read.Part != "" {
		return []read{{key: c.Key, kind: text, size: 1, shape: shape, spec: ExampleSpec{Key: c.Key, DType: tensor.String, Shape: shape, Optional: true}}}
	}
	spec := ExampleSpec{Key: c.Key, DType: tensor.Float32, Shape: shape}
	if c.Default != nil {
		spec.Default = spread(c.Default, 0, c.Width())
	}
	return []read{{key: c.Key, kind: number, size: c.Width(), shape: shape, spec: spec, yields: c.Alias != ""}}
}

// dense writes the normalised numbers for a model. An infinite number is an error: it would
// make the model's loss NaN many ops later, where the row is unknown.
func (c *Numeric) dense(b *batch, out []float32) error {
	if err := c.read(b, out); err != nil || c.AllowNaN {
		return err
	}
	for i, v := range out {
		if math.IsInf(float64(v), 0) {
			cells, err := b.cells(c.Key)
			if err != nil {
				return err
			}
			return infiniteError(c.at(b, i, cells.show(i)))
		}
	}
	return nil
}

// read writes the normalised numbers. They may be infinite: buckets accept that.
func (c *Numeric) read(b *batch, out []float32) error {
	x, err := b.numbers(c.Key, c.Read)
	if err != nil {
		return err
	}
	if len(x) != len(out) {
		return fmt.Errorf("feature %q has %d numbers in %d rows, expected %d a row", c.Key, len(x), b.rows(), c.Width())
	}
	cells, err := b.cells(c.Key)
	if err != nil {
		return err
	}
	copy(out, x)
	w := c.Width()
	for i, missing := range cells.missing {
		switch {
		case !missing:
		case c.Default == nil && c.AllowNaN && c.Read.Part != "":
			out[i] = float32(math.NaN())
		case c.Default == nil:
			e := c.at(b, i, "null")
			e.Err = errMissing
			return &e
		default:
			out[i] = c.Default[min(i%w, len(c.Default)-1)]
		}
	}
	c.fill(out)
	c.Normalizer.apply(out, w)
	if c.AllowNaN {
		return nil
	}
	if i := firstNaN(out); i >= 0 {
		return nanError(c.at(b, i, cells.show(i)))
	}
	return nil
}

// fill replaces NaN by the default, if NaN counts as missing.
func (c *Numeric) fill(x []float32) {
	if !c.FillNaN {
		return
	}
	for i, v := range x {
		if v != v {
			x[i] = c.Default[min(i%c.Width(), len(c.Default)-1)]
		}
	}
}

var errMissing = fmt.Errorf("missing value of a numeric column: give it a default, or filter such rows")

func firstNaN(x []float32) int {
	for i, v := range x {
		if v != v {
			return i
		}
	}
	return -1
}

// at returns the place of number i of a batch; value is how messages show it.
func (c *Numeric) at(b *batch, i int, value string) inputs.RowError {
	return inputs.RowError{Column: c.Key, Row: b.first + int64(i/c.Width()), Element: i % c.Width(), Value: value}
}

func nanError(at inputs.RowError) error {
	at.Err = fmt.Errorf("not a number: filter such rows, or set allow_nan")
	if _, e := strconv.ParseFloat(at.Value, 64); e == nil && at.Value != "NaN" {
		at.Err = fmt.Errorf("the normalizer makes it NaN: correct the value or the normalizer")
	}
	return &at
}

func infiniteError(at inputs.RowError) error {
	at.Err = fmt.Errorf("not a finite number: filter such rows, or set allow_nan")
	if v, e := strconv.ParseFloat(at.Value, 64); e == nil && !math.IsInf(v, 0) {
		at.Err = fmt.Errorf("the normalizer makes it infinite: correct the value or the normalizer")
	}
	return &at
}

// values returns the normalised numbers, computed once for all columns that use them.
func (c *Numeric) values(b *batch) ([]float32, error) {
	return b.normal.get(b.turn, c, func(old []float32) ([]float32, error) {
		out := sized(old, b.rows()*c.Width())
		return out, c.read(b, out)
	})
}
