package feature

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/goestimator/goestimator/inputs"
)

// Columns says which columns feed which part of a model. A column may be in
// several parts.
type Columns struct {
	// Linear feeds a linear model: categorical and dense columns.
	Linear []Column
	// LinearCombiner is the linear model's sparse_combiner; "" means Sum.
	LinearCombiner Combiner
	// Dense feeds an input layer: Numeric, Bucketized, Indicator, Embedding.
	Dense []Column
	// Sequence feeds sequence features: SequenceNumeric, and Indicator and
	// Embedding over a Sequence.
	Sequence []Column
	// Keep names raw features that the transformed records keep.
	Keep []string
}

// A Plan computes columns. It is safe for concurrent use.
type Plan struct {
	columns Columns
	dense   []Input
	linear  []Input
	series  []Input
	outputs []*Output
	byText  map[textForm]*Output // outputs by column and form
	names   map[string]bool      // names of the outputs
	reads   []read
	seen    map[string]Column // by declaration: the columns that visit has handled
	bound   atomic.Pointer[binding]
}

// textForm is the text of a column, and its form in an output.
type textForm struct {
	column string
	form   Form
}

// New checks columns, reads their vocabulary files and plans their computation.
// The error names the column.
func New(c Columns) (*Plan, error) {
	p := &Plan{columns: c, byText: map[textForm]*Output{}, names: map[string]bool{}, seen: map[string]Column{}}
	for _, part := range []struct {
		name    string
		columns []Column
		to      *[]Input
		add     func(Column) (Input, error)
	}{
		{"linear", c.Linear, &p.linear, p.addLinear},
		{"dense", c.Dense, &p.dense, p.addDense},
		{"sequence", c.Sequence, &p.series, p.addSequence},
	} {
		var err error
		if *part.to, err = p.addAll(part.columns, part.add); err != nil {
			return nil, fmt.Errorf("%s columns: %w", part.name, err)
		}
	}
	if err := c.LinearCombiner.check(); err != nil {
		return nil, fmt.Errorf("linear columns: %w", err)
	}
	if len(p.outputs) == 0 {
		return nil, fmt.Errorf("no feature columns: give at least one")
	}
	return p, p.checkTables()
}

// addAll adds the columns of a part in the order of their names, like TensorFlow.
func (p *Plan) addAll(columns []Column, add func(Column) (Input, error)) ([]Input, error) {
	for _, c := range columns {
		if err := p.visit(c, 0); err != nil {
			return nil, err
		}
	}
	columns = slices.Clone(columns)
	slices.SortStableFunc(columns, func(a, b Column) int { return strings.Compare(a.Name(), b.Name()) })
	inputs := make([]Input, len(columns))
	for i, c := range columns {
		if i > 0 && c.Name() == columns[i-1].Name() {
			return nil, fmt.Errorf("two columns are named %q, %v and %v: remove one, or give its feature another name", c.Name(), columns[i-1], c)
		}
		var err error
		if inputs[i], err = add(c); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name(), err)
		}
	}
	return inputs, nil
}

// visit checks a column and the columns that it is made of, and records what they read.
func (p *Plan) visit(c Column, depth int) error {
	if v := reflect.ValueOf(c); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("a column, or the one that a column is made of, is nil: set it")
	}
	if depth > 100 {
		return fmt.Errorf("columns are made of one another more than 100 deep: is one a part of itself?")
	}
	k, err := asBuiltin(c)
	if err != nil {
		return err
	}
	for _, parent := range k.parents() {
		if err := p.visit(parent, depth+1); err != nil {
			return err
		}
	}
	if err := k.check(); err != nil {
		return fmt.Errorf("column %q: %w", c.Name(), err)
	}
	first, ok := p.seen[c.String()]
	switch {
	case !ok:
		p.seen[c.String()] = c
		p.reads = append(p.reads, k.reads()...)
	case (users(first) || users(c)) && !reflect.DeepEqual(first, c):
		return fmt.Errorf("column %q: it differs from column %q, and both declare themselves as %s: expected that String tells them apart", c.Name(), first.Name(), c)
	}
	return nil
}

// overSequence reports whether c is a sequence, or an indicator or embedding of one.
func overSequence(c Column) bool {
	switch x := c.(type) {
	case *Indicator:
		c = x.Of
	case *Embedding:
		c = x.Of
	}
	_, ok := c.(*Sequence)
	return ok
}

func (p *Plan) addLinear(c Column) (Input, error) {
	in := Input{Column: c.Name(), Kernel: &Variable{Name: scope(c.Name()) + "/weights", Trainable: true}}
	if cat, ok := c.(Categorical); ok && !overSequence(c) {
		comb := p.columns.LinearCombiner.or(Sum)
		in.Kind, in.Combiner, in.Buckets = IDs, comb, cat.Buckets()
		in.Kernel.Shape = []int{cat.Buckets(), 0}
		in.Values, in.Weights = p.idOutputs(cat, comb)
		return in, nil
	}
	kernel := in.Kernel
	in, err := p.addDense(c)
	if err != nil {
		return in, err
	}
	in.Kernel = kernel
	in.Kernel.Shape = []int{in.Width, 0}
	return in, nil
}

func (p *Plan) addDense(c Column) (Input, error) {
	if overSequence(c) {
		return Input{}, fmt.Errorf("%v is a sequence: move it to the sequence columns", c)
	}
	switch c := c.(type) {
	case *Embedding:
		return p.addEmbedding(c, IDs), nil
	case *SequenceNumeric:
		return Input{}, fmt.Errorf("%v is a sequence: move it to the sequence columns", c)
	}
	if v, ok := vectors(c); ok {
		return Input{Column: c.Name(), Kind: Numbers, Width: v.Width(), Values: p.output(c, FormDense).Name}, nil
	}
	return Input{}, fmt.Errorf("%v has no dense form: wrap it in an indicator or embedding column", c)
}

func (p *Plan) addSequence(c Column) (Input, error) {
	_, embedding := c.(*Embedding)
	s, ok := c.(series)
	switch {
	case overSequence(c) && embedding:
		return p.addEmbedding(c.(*Embedding), IDSteps), nil
	case ok && (overSequence(c) || isSequenceNumeric(c)):
		in := Input{Column: c.Name(), Kind: NumberSteps, Width: s.Width(), Values: p.output(c, FormNumberSteps).Name}
		if n, ok := c.(*SequenceNumeric); ok {
			in.Pad = n.Default
		}
		return in, nil
	}
	return Input{}, fmt.Errorf("%v is no sequence: expected a sequence_numeric column, or an indicator or embedding over a sequence", c)
}

// series is a column that makes numbers for each step.
type series interface {
	Column
	Width() int
	steps(b *batch) ([]float32, []int32, error)
}

func isSequenceNumeric(c Column) bool { _, ok := c.(*SequenceNumeric); return ok }

func (p *Plan) addEmbedding(c *Embedding, kind Kind) Input {
	in := Input{Column: c.Name(), Kind: kind, Width: c.Dimension, Buckets: c.Of.Buckets(), Combiner: c.Combiner.or(Mean), MaxNorm: c.MaxNorm, Table: c.variable()}
	if kind == IDSteps {
		in.Values = p.output(c.Of, FormIDSteps).Name
	} else {
		in.Values, in.Weights = p.idOutputs(c.Of, in.Combiner)
	}
	return in
}

// idOutputs returns the names of the ids and weights of a column. Mean and SqrtN
// leave out ids whose weight is not positive.
func (p *Plan) idOutputs(c Categorical, comb Combiner) (ids, weights string) {
	w, ok := c.(*Weighted)
	switch {
	case !ok:
		return p.output(c, FormIDs).Name, ""
	case comb == Sum:
		return p.output(w, FormIDs).Name, p.output(w, FormWeights).Name
	}
	return p.output(w, FormPositiveIDs).Name, p.output(w, FormPositiveWeights).Name
}

// output returns the output of a column, which it adds if there is none yet.
func (p *Plan) output(c Column, form Form) *Output {
	of := textForm{c.String(), form}
	if o := p.byText[of]; o != nil {
		return o
	}
	base := c.Name() + form.suffix()
	name := base
	for i := 2; p.names[name]; i++ {
		name = fmt.Sprintf("%s/%d", base, i)
	}
	p.names[name] = true
	o := &Output{Name: name, Form: form, Column: c}
	p.outputs, p.byText[of] = append(p.outputs, o), o
	return o
}

// checkTables checks that columns which share a table have the same settings for it.
func (p *Plan) checkTables() error {
	known := map[string]Input{}
	for _, in := range slices.Concat(p.linear, p.dense, p.series) {
		if in.Table == nil || !in.Table.Global {
			continue
		}
		first, ok := known[in.Table.Name]
		if !ok {
			known[in.Table.Name] = in
			continue
		}
		if !reflect.DeepEqual(first.Table, in.Table) || first.MaxNorm != in.MaxNorm || first.Combiner != in.Combiner {
			return fmt.Errorf("columns %q and %q share table %q but differ in buckets (%d and %d) or in settings: make them equal",
				first.Column, in.Column, in.Table.Name, first.Buckets, in.Buckets)
		}
	}
	return nil
}

// Outputs lists the columns of the transformed records, in order. The columns of Columns.Keep come
// before them.
func (p *Plan) Outputs() []Output {
	out := make([]Output, len(p.outputs))
	for i, o := range p.outputs {
		out[i] = *o
	}
	return out
}

// Kept lists the raw features that the transformed records keep.
func (p *Plan) Kept() []string { return slices.Clone(p.columns.Keep) }

// Reads lists the raw features that the columns read, in order, each once.
func (p *Plan) Reads() []string {
	var keys []string
	for _, r := range p.reads {
		if !slices.Contains(keys, r.key) {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// Check reports whether the columns can read a raw feature that is c in the data; its name is the
// feature's. A shape with -1 is unknown, and is not checked.
func (p *Plan) Check(c inputs.Column) error {
	unknown := slices.Contains(c.Shape, -1)
	for _, r := range p.reads {
		if r.key != c.Name {
			continue
		}
		if unknown {
			c.Shape = r.shape
		}
		if err := r.accepts(c); err != nil {
			return fmt.Errorf("feature columns: %w", err)
		}
	}
	return nil
}

// String is the declaration of all columns; it is part of a pipeline's description.
func (p *Plan) String() string {
	return fmt.Sprintf("linear %v dense %v sequence %v %s keep %v", p.columns.Linear, p.columns.Dense, p.columns.Sequence, p.columns.LinearCombiner.or(Sum), p.columns.Keep)
}

// Mapper returns the host side as a Mapper, which replaces features by the
// results of the columns.
func (p *Plan) Mapper() inputs.Mapper {
	return inputs.Mapper{
		Name:   fmt.Sprintf("feature(%016x)", Fingerprint64([]byte(p.String()))),
		Schema: p.schema,
		Map:    p.apply,
	}
}

// Transform returns the host side as a transform that runs in the given
// number of goroutines, ahead of the consumer.
func (p *Plan) Transform(workers int) inputs.Transform {
	return inputs.ParallelMap(p.Mapper(), workers)
}
