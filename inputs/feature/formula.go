package feature

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/expr"
)

// A Formula is a dense column that users write: an elementwise expression of
// other dense columns. It is computed when data is read; an exported model
// contains its operations.
type Formula interface {
	Dense
	// Of returns the columns whose numbers it reads. All have its Width.
	Of() []Dense
	// Formula returns its numbers as an expression of the numbers of Of, in order. Each call must return the same expression.
	Formula(of []expr.Expr) expr.Expr
}

// FormulaProgram returns the program of a Formula. Its inputs are named by position in Of: "0", "1", ...
func FormulaProgram(c Formula) expr.Program {
	in := make([]expr.Expr, len(c.Of()))
	for i := range in {
		in[i] = expr.Input(strconv.Itoa(i))
	}
	return expr.Trace(c.Formula(in))
}

// formula is a Formula as a column of this package.
type formula struct{ Formula }

func (c formula) parents() []Column {
	var out []Column
	for _, d := range c.Of() {
		out = append(out, d)
	}
	return out
}

func (c formula) reads() []read { return nil }

func (c formula) check() error {
	if err := checkOwn(c.Formula, c.Width()); err != nil {
		return err
	}
	if len(c.Of()) == 0 {
		return fmt.Errorf("a formula of no columns: expected at least one dense column")
	}
	for _, d := range c.Of() {
		v, ok := vectors(d)
		if !ok {
			return fmt.Errorf("a formula of %v: expected columns of numbers: numeric, bucketized, indicator or formula ones", d)
		}
		if w := v.Width(); w != c.Width() {
			return fmt.Errorf("a formula of width %d of %v, whose width is %d: expected one width", c.Width(), d, w)
		}
	}
	p := FormulaProgram(c.Formula)
	if len(p.Inputs()) == 0 {
		return fmt.Errorf("a formula that reads none of its columns: expected a function of them")
	}
	var places []string
	for i := range c.Of() {
		places = append(places, strconv.Itoa(i))
	}
	if err := p.Check(places...); err != nil {
		return fmt.Errorf("a formula that cannot be computed: %w", err)
	}
	if !p.Elementwise() {
		return fmt.Errorf("a formula with a Norm, which depends on how examples are batched: expected one of each number alone")
	}
	return nil
}

// checkOwn checks what all columns of users need: a name, a positive size, and a
// comparable type, by which batches tell columns apart.
func checkOwn(c Column, size int) error {
	if c.Name() == "" || c.String() == "" {
		return fmt.Errorf("no name, or no declaration: Name and String must return some")
	}
	if !reflect.TypeOf(c).Comparable() {
		return fmt.Errorf("type %T cannot be compared: make its pointer the column", c)
	}
	return positive("the number of its numbers or ids", size)
}

func (c formula) dense(b *batch, out []float32) error {
	in := map[string][]float64{}
	for i, d := range c.Of() {
		v, _ := vectors(d)
		x := make([]float32, len(out))
		if err := v.dense(b, x); err != nil {
			return err
		}
		in[strconv.Itoa(i)] = convert[float64](x)
	}
	for i, v := range FormulaProgram(c.Formula).Compute(len(out), in)[0] {
		if out[i] = float32(v); math.IsNaN(v) || math.IsInf(float64(out[i]), 0) {
			return &inputs.RowError{Column: c.Name(), Row: b.first + int64(i/c.Width()), Element: i % c.Width(), Value: strconv.FormatFloat(v, 'g', -1, 64),
				Err: fmt.Errorf("not a finite number: correct the value or the formula, or filter such rows")}
		}
	}
	return nil
}
