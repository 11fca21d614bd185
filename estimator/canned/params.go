package canned

import (
	"errors"
	"maps"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
)

// paramReader reads the parameters of a model of a config file.
type paramReader struct {
	*params.Reader
	set *feature.Set
}

func (r *paramReader) text(name string) string {
	return params.Get(r.Reader, name, "text", "", params.Text)
}

// wholes reads a whole number or a list of them.
func (r *paramReader) wholes(name string) []int {
	return params.Get(r.Reader, name, "a list of whole numbers", nil, func(x any) ([]int, bool) { return params.OneOrMore(x, params.Integer) })
}

// whole reads a whole number.
func (r *paramReader) whole(name string, def int) int {
	return params.Get(r.Reader, name, "a whole number", def, params.Integer)
}

// count reads a whole number of at least 1; it is 0 if absent.
func (r *paramReader) count(name string) int {
	n := r.whole(name, 0)
	if r.Has(name) && n < 1 {
		r.Expect(name, "a whole number of at least 1")
	}
	return n
}

// columns reads names and returns the declared columns.
func (r *paramReader) columns(name string) []feature.Column {
	names := r.Words(name)
	if len(names) == 0 {
		return nil
	}
	if r.set == nil {
		r.Refuse(name, errors.New("no columns are declared: list them under feature_columns"))
		return nil
	}
	c, err := r.set.Columns(names...)
	if err != nil {
		r.Refuse(name, err)
	}
	return c
}

// optimizer reads a name, which gets the learning rate rate, or a map of a name and
// hyper-parameters; it is nil if absent.
func (r *paramReader) optimizer(name string, rate float64) *optimizers.Optimizer {
	var o *optimizers.Optimizer
	var err error
	switch v := r.Any(name).(type) {
	case nil:
		return nil
	case string:
		o, err = named(v, rate)
	case map[string]any:
		params := maps.Clone(v)
		rule, isText := params["name"].(string)
		delete(params, "name")
		if !isText {
			r.Refuse(name+".name", errors.New("expected the name of an optimizer"))
			return nil
		}
		o, err = made(rule, params)
	default:
		r.Expect(name, "a name, or a map of a name and hyper-parameters")
		return nil
	}
	if err != nil {
		r.Refuse(name, err)
	}
	return o
}

func (r *paramReader) activation(name string) layers.Activation {
	s := r.text(name)
	if s == "" {
		return nil
	}
	a, err := layers.ActivationByName(s)
	if err != nil {
		r.Refuse(name, err)
	}
	return a
}

func (r *paramReader) combiner(name string) feature.Combiner {
	return feature.Combiner(r.text(name))
}

// kindOfHead says which parameters describe a model's head.
type kindOfHead int

const (
	classes    kindOfHead = iota // n_classes
	candidates                   // n_classes of a model with a loss of its own
	numbers                      // label_dimension
	anyHead                      // head and its parameters
)

// head makes the head. The parameters are those of heads.FromParams, except that the
// number of classes has tf.estimator's name.
func (r *paramReader) head(k kindOfHead) heads.Head {
	p := estimator.Params{}
	names := []string{"metrics"}
	if k != candidates {
		names = append(names, "weight_column", "loss", "loss_reduction")
	}
	switch k {
	case candidates:
		names = append(names, "n_classes", "label_vocabulary", "class_names", "class_weights")
		p["classes"] = 2
	case classes:
		names = append(names, "n_classes", "label_vocabulary", "class_names", "thresholds", "class_weights")
		p["classes"] = 2
	case numbers:
		names = append(names, "label_dimension", "label_mean", "label_std")
		p["label_dimension"] = 1
	case anyHead:
		names = append(names, "head", "n_classes", "label_dimension", "label_vocabulary", "class_names", "thresholds", "label_mean", "label_std", "class_weights")
	}
	for _, name := range names {
		if v := r.Any(name); v != nil {
			p[name] = v
		}
	}
	if _, ok := p["n_classes"]; ok {
		delete(p, "n_classes")
		p["classes"] = r.whole("n_classes", 2)
	}
	if r.Err() != nil {
		return nil
	}
	h, _, err := heads.FromParams(p)
	if err != nil {
		r.Fail(err)
	}
	return h
}
