package inputs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/tensor"
)

// An Expression computes a value of each row from its columns, in the syntax of Go: age > 18 && town != "Bern", log1p(price / rooms).
//
// A name is a column; col("a name") is a column whose name is no identifier. Columns have one number, text or bool in each row; len also takes
// ragged ones. Numbers are float64; integer columns are compared, chosen and copied exactly. Operators are + - * / %, == != < <= > >=, && || !.
// Functions are abs, ceil, exp, floor, log, log10, log1p, round, sqrt (x); max, min, pow (x, y); clip (x, low, high); where (condition, a, b);
// isnan (x); len, lower (text); number (text) for text such as $1,234.50, 12 kg or 3.5 %, or with its decimal mark (text, ","), else NaN; contains, prefix, suffix
// (text, text); and year, month, day, weekday (0 is Sunday), hour of a time: text such as 2024-12-31 or 2024-12-31 23:59:59+0100, in its own zone, or seconds since 1970 in UTC.
type Expression struct {
	text string
	tree ast.Expr
}

// maxExpression bounds the text of an expression.
const maxExpression = 10_000

// ParseExpression parses text. It does not check that the columns exist: the user of the expression does.
func ParseExpression(text string) (Expression, error) {
	if len(text) > maxExpression {
		return Expression{}, fmt.Errorf("expression of %d bytes: expected at most %d", len(text), maxExpression)
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		return Expression{}, fmt.Errorf("expression %s: %w: expected, for example, price / rooms > 2 && town == \"Bern\"", shown(text), err)
	}
	return Expression{text, tree}, nil
}

// String returns the text.
func (x Expression) String() string { return x.text }

// term is a part of an expression, as a function of the columns and the row. Exactly one of num, text and truth is set.
type term struct {
	num   func(c []NamedTensor, i int) float64
	whole func(c []NamedTensor, i int) int64 // set besides num for integers
	text  func(c []NamedTensor, i int) string
	truth func(c []NamedTensor, i int) bool

	constant bool // text is a literal; it may be called with a nil c
}

func (t term) kind() string {
	switch {
	case t.num != nil:
		return "a number"
	case t.text != nil:
		return "text"
	}
	return "true or false"
}

// compile returns the function of an expression over the columns of a schema.
func (x Expression) compile(s *Schema) (term, error) {
	t, err := (&compiler{schema: s}).term(x.tree)
	if err != nil {
		return t, fmt.Errorf("expression %s: %w", shown(x.text), err)
	}
	return t, nil
}

type compiler struct{ schema *Schema }

func (c *compiler) term(e ast.Expr) (term, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.term(e.X)
	case *ast.Ident:
		switch e.Name {
		case "true", "false":
			return term{truth: func([]NamedTensor, int) bool { return e.Name == "true" }}, nil
		}
		return c.column(e.Name)
	case *ast.BasicLit:
		return literal(e)
	case *ast.UnaryExpr:
		return c.unary(e)
	case *ast.BinaryExpr:
		return c.binary(e)
	case *ast.CallExpr:
		return c.call(e)
	}
	return term{}, fmt.Errorf("%T is not of the language of expressions: expected columns, numbers, text, operators and functions", e)
}

func literal(e *ast.BasicLit) (term, error) {
	switch e.Kind {
	case token.STRING, token.CHAR:
		s, err := strconv.Unquote(e.Value)
		return term{text: func([]NamedTensor, int) string { return s }, constant: true}, err
	case token.INT:
		if n, err := strconv.ParseInt(e.Value, 0, 64); err == nil {
			return wholeNumber(func([]NamedTensor, int) int64 { return n }), nil
		}
	}
	v, err := strconv.ParseFloat(e.Value, 64)
	if err != nil {
		return term{}, fmt.Errorf("%s is not a number", e.Value)
	}
	return number64(func([]NamedTensor, int) float64 { return v }), nil
}

func number64(f func([]NamedTensor, int) float64) term { return term{num: f} }

func wholeNumber(f func([]NamedTensor, int) int64) term {
	return term{whole: f, num: func(c []NamedTensor, i int) float64 { return float64(f(c, i)) }}
}

// column returns the value of a column.
func (c *compiler) column(name string) (term, error) {
	at := c.schema.Index(name)
	if at < 0 {
		var names []string
		for _, col := range c.schema.columns {
			names = append(names, col.Name)
		}
		return term{}, fmt.Errorf("unknown column %q: the data has %s", name, strings.Join(names, ", "))
	}
	col := c.schema.columns[at]
	switch {
	case col.Ragged || col.Size() != 1:
		return term{}, fmt.Errorf("column %s has several values in each row: expected one", col)
	case col.DType == tensor.String:
		return term{text: func(c []NamedTensor, i int) string { return string(c[at].Tensor.Strings[i]) }}, nil
	case col.DType == tensor.Bool:
		return term{truth: func(c []NamedTensor, i int) bool { return c[at].Tensor.Bytes[i] != 0 }}, nil
	case col.DType.Float() || col.DType == tensor.Uint64:
		return number64(func(c []NamedTensor, i int) float64 { return c[at].Tensor.Float(i) }), nil
	}
	return wholeNumber(func(c []NamedTensor, i int) int64 { return c[at].Tensor.Int(i) }), nil
}

func (c *compiler) unary(e *ast.UnaryExpr) (term, error) {
	x, err := c.term(e.X)
	switch {
	case err != nil:
		return x, err
	case e.Op == token.SUB && x.whole != nil:
		return wholeNumber(func(c []NamedTensor, i int) int64 { return -x.whole(c, i) }), nil
	case e.Op == token.SUB && x.num != nil:
		return number64(func(c []NamedTensor, i int) float64 { return -x.num(c, i) }), nil
	case e.Op == token.ADD && x.num != nil:
		return x, nil
	case e.Op == token.NOT && x.truth != nil:
		return term{truth: func(c []NamedTensor, i int) bool { return !x.truth(c, i) }}, nil
	}
	return term{}, fmt.Errorf("operator %s of %s: expected - of a number, or ! of a condition", e.Op, x.kind())
}

var arithmetic = map[token.Token]func(x, y float64) float64{
	token.ADD: func(x, y float64) float64 { return x + y }, token.SUB: func(x, y float64) float64 { return x - y },
	token.MUL: func(x, y float64) float64 { return x * y }, token.QUO: func(x, y float64) float64 { return x / y }, token.REM: math.Mod,
}

func (c *compiler) binary(e *ast.BinaryExpr) (term, error) {
	x, err := c.term(e.X)
	if err != nil {
		return x, err
	}
	y, err := c.term(e.Y)
	if err != nil {
		return y, err
	}
	if f := arithmetic[e.Op]; f != nil && x.num != nil && y.num != nil {
		return number64(func(c []NamedTensor, i int) float64 { return f(x.num(c, i), y.num(c, i)) }), nil
	}
	var out term
	switch {
	case e.Op == token.ADD && x.text != nil && y.text != nil:
		out.text = func(c []NamedTensor, i int) string { return x.text(c, i) + y.text(c, i) }
	case e.Op == token.LAND && x.truth != nil && y.truth != nil:
		out.truth = func(c []NamedTensor, i int) bool { return x.truth(c, i) && y.truth(c, i) }
	case e.Op == token.LOR && x.truth != nil && y.truth != nil:
		out.truth = func(c []NamedTensor, i int) bool { return x.truth(c, i) || y.truth(c, i) }
	case x.whole != nil && y.whole != nil:
		out.truth = comparison(e.Op, x.whole, y.whole)
	case x.num != nil && y.num != nil:
		out.truth = comparison(e.Op, x.num, y.num)
	case x.text != nil && y.text != nil:
		out.truth = comparison(e.Op, x.text, y.text)
	case x.truth != nil && y.truth != nil && (e.Op == token.EQL || e.Op == token.NEQ):
		out.truth = func(c []NamedTensor, i int) bool { return (x.truth(c, i) == y.truth(c, i)) == (e.Op == token.EQL) }
	}
	if out.truth == nil && out.text == nil {
		return out, fmt.Errorf("operator %s of %s and %s: expected two of one kind, and an operator that they have", e.Op, x.kind(), y.kind())
	}
	return out, nil
}

// comparison returns the comparison by op, nil if op does not compare.
func comparison[T int64 | float64 | string](op token.Token, x, y func([]NamedTensor, int) T) func([]NamedTensor, int) bool {
	switch op {
	case token.EQL:
		return func(c []NamedTensor, i int) bool { return x(c, i) == y(c, i) }
	case token.NEQ:
		return func(c []NamedTensor, i int) bool { return x(c, i) != y(c, i) }
	case token.LSS:
		return func(c []NamedTensor, i int) bool { return x(c, i) < y(c, i) }
	case token.LEQ:
		return func(c []NamedTensor, i int) bool { return x(c, i) <= y(c, i) }
	case token.GTR:
		return func(c []NamedTensor, i int) bool { return x(c, i) > y(c, i) }
	case token.GEQ:
		return func(c []NamedTensor, i int) bool { return x(c, i) >= y(c, i) }
	}
	return nil
}

// call returns a function's value.
func (c *compiler) call(e *ast.CallExpr) (term, error) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || e.Ellipsis.IsValid() {
		return term{}, fmt.Errorf("a call of something else than a function")
	}
	if at, ok := c.list(name.Name, e.Args); ok {
		return at, nil
	}
	if lit, ok := onlyText(e.Args); ok && name.Name == "col" {
		return c.column(lit)
	}
	args := make([]term, len(e.Args))
	kinds := ""
	for i, a := range e.Args {
		var err error
		if args[i], err = c.term(a); err != nil {
			return term{}, err
		}
		kinds += map[string]string{"a number": "n", "text": "t", "true or false": "b"}[args[i].kind()]
	}
	forms, ok := functions[name.Name]
	if !ok {
		return term{}, fmt.Errorf("unknown function %s: expected one of %s", name.Name, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
	}
	make, ok := forms[kinds]
	if !ok {
		return term{}, fmt.Errorf("function %s does not take %d arguments of these kinds: n is a number, t text, b a condition; expected one of %s, got %q",
			name.Name, len(args), strings.Join(slices.Sorted(maps.Keys(forms)), ", "), kinds)
	}
	if name.Name == "number" {
		if err := checkNumber(args); err != nil {
			return term{}, fmt.Errorf("function number: %w", err)
		}
	}
	return make(args), nil
}

func onlyText(args []ast.Expr) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	lit, ok := args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// list returns len of a ragged column.
func (c *compiler) list(function string, args []ast.Expr) (term, bool) {
	if function != "len" || len(args) != 1 {
		return term{}, false
	}
	id, ok := args[0].(*ast.Ident)
	if !ok {
		return term{}, false
	}
	at := c.schema.Index(id.Name)
	if at < 0 || !c.schema.columns[at].Ragged {
		return term{}, false
	}
	return wholeNumber(func(c []NamedTensor, i int) int64 { return int64(c[at].Offsets[i+1] - c[at].Offsets[i]) }), true
}
