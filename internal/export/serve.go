package export

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/tensor"
)

// The placeholder of serialized examples, and its key in signatures; Classify
// and Regress signatures have another key.
const (
	examplesPlaceholder = "input_example_tensor"
	examplesKey         = "examples"
	inputsKey           = "inputs"
)

// input is an input of the signatures.
type input struct {
	key    string
	tensor graph.Output
}

// wanted lists the features that a graph reads: those of its feature columns, and
// feeds that feature columns do not make.
type wanted struct {
	specs   []feature.ExampleSpec // one per feature
	columns []inputs.Column       // the same as columns of the data
	plain   map[string]bool       // by key: fed unchanged
}

func (w *wanted) add(s feature.ExampleSpec, c inputs.Column) {
	w.specs, w.columns = append(w.specs, s), append(w.columns, c)
}

// wants returns the features to serve. What feature columns read has the type and, as a raw
// input, the shape of the data, if that is known.
func (a *assembly) wants(feeds []Feed) (*wanted, error) {
	w := &wanted{plain: map[string]bool{}}
	made := map[string]bool{}
	if a.columns != nil {
		specs, err := a.columns.ExampleSpecs()
		if err != nil {
			return nil, err
		}
		for _, s := range specs {
			c := a.asGiven(inputs.Column{Name: s.Key, DType: s.DType, Shape: s.Shape, Ragged: s.VarLen})
			if s.VarLen {
				s.DType = exampleType(c.DType) // a cross, for example, hashes numbers differently than their digits
				if !c.Ragged && s.DType != tensor.Float32 {
					// It also hashes dense and sparse features differently, so the feature stays as in the training data.
					s.VarLen, s.Shape, s.Optional = false, c.Shape, true
				}
			}
			if c.Default != nil {
				s = s.WithDefault(c)
			}
			w.add(s, c)
		}
		if made, err = madeBy(a.columns); err != nil {
			return nil, err
		}
	}
	for _, f := range feeds {
		if name := f.Column.Name; !made[name] {
			if err := w.feed(f); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

// feed adds a column that is fed unchanged. A feature column may read it, too.
func (w *wanted) feed(f Feed) error {
	c := f.Column
	if c.Ragged = f.Offsets.Valid(); c.Ragged {
		c.Shape = nil
	}
	i := slices.IndexFunc(w.specs, func(s feature.ExampleSpec) bool { return s.Key == c.Name })
	if w.plain[c.Name] || i >= 0 && w.specs[i].VarLen != c.Ragged {
		return fmt.Errorf("column %q is fed in two ways: give one of them another name", c.Name)
	}
	w.plain[c.Name] = true
	if i < 0 {
		s := feature.ExampleSpec{Key: c.Name, DType: exampleType(c.DType), VarLen: c.Ragged, Shape: c.Shape}
		if c.Default != nil {
			s = s.WithDefault(c)
		}
		w.add(s, c)
	}
	return nil
}

// exampleType returns the type of a column of type d in a tf.train.Example.
func exampleType(d tensor.DType) tensor.DType {
	switch {
	case d == tensor.String:
		return d
	case d.Float():
		return tensor.Float32
	}
	return tensor.Int64
}

// asGiven returns the data's column of that name, or c if there is none.
func (a *assembly) asGiven(c inputs.Column) inputs.Column {
	if i := slices.IndexFunc(a.rawColumns, func(r inputs.Column) bool { return r.Name == c.Name }); i >= 0 {
		return a.rawColumns[i]
	}
	return c
}

// madeBy returns the names of the columns that feature columns make.
func madeBy(p *feature.Plan) (map[string]bool, error) {
	linear, err := p.Linear(1)
	if err != nil {
		return nil, err
	}
	made := map[string]bool{}
	for _, in := range slices.Concat(linear, p.Dense(), p.Sequence()) {
		made[in.Values], made[in.Weights] = true, true
	}
	delete(made, "")
	return made, nil
}

// serve adds the serving input.
func (a *assembly) serve(w *wanted) (map[string]columngraph.Raw, error) {
	if !a.input.parsing {
		raw, placeholders, err := columngraph.Placeholders(a.Builder, w.columns)
		for _, c := range w.columns {
			a.inputs = append(a.inputs, input{c.Name, placeholders[c.Name]})
			if w.plain[c.Name] {
				raw[c.Name] = columngraph.Raw{Dense: placeholders[c.Name]}
			}
		}
		return raw, err
	}
	examples := a.Placeholder(examplesPlaceholder, ofRank(tensor.String, graph.Batch))
	a.inputs = []input{{examplesKey, examples}}
	if len(w.specs) == 0 {
		return nil, nil
	}
	return columngraph.Parse(a.Builder, examples, w.specs)
}
