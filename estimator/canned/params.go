package canned

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/optimizers"
)

// paramReader reads the parameters of a model of a config file. Errors are
// collected; each names its parameter.
type paramReader struct {
	params estimator.Params
	set    *feature.Set
	known  []string
	errs   []error
}

func (r *paramReader) fail(name string, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", name, err))
}

func (r *paramReader) refuse(name, expected string) {
	r.fail(name, fmt.Errorf("expected %s, got %v", expected, r.params[name]))
}

// get notes that a parameter is known.
func (r *paramReader) get(name string) (any, bool) {
	r.known = append(r.known, name)
	v, ok := r.params[name]
	return v, ok
}

// done returns what is wrong, unknown parameters too.
func (r *paramReader) done() error {
	slices.Sort(r.known)
	r.known = slices.Compact(r.known)
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(r.params)), func(name string) bool { return slices.Contains(r.known, name) })
	switch len(unknown) {
	case 0:
	case 1:
		r.errs = append(r.errs, fmt.Errorf("unknown parameter %s: known are %s", unknown[0], strings.Join(r.known, ", ")))
	default:
		r.errs = append(r.errs, fmt.Errorf("unknown parameters %s: known are %s", strings.Join(unknown, ", "), strings.Join(r.known, ", ")))
	}
	return errors.Join(r.errs...)
}

func (r *paramReader) number(name string, def float64) float64 {
	r.get(name)
	x, ok := r.params.Float(name, def)
	if !ok {
		r.refuse(name, "a number")
	}
	return x
}

func (r *paramReader) truth(name string) bool {
	v, ok := r.get(name)
	b, isBool := v.(bool)
	if ok && !isBool {
		r.refuse(name, "true or false")
	}
	return b
}

func (r *paramReader) text(name string) string {
	v, ok := r.get(name)
	s, isText := v.(string)
	if ok && !isText {
		r.refuse(name, "text")
	}
	return s
}

// texts is a list of words, or one word.
func (r *paramReader) texts(name string) []string {
	v, _ := r.get(name)
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return strings.Split(v, ",")
	case []string:
		return v
	case []any:
		out := make([]string, len(v))
		for i := range v {
			out[i] = fmt.Sprint(v[i])
		}
		return out
	}
	r.refuse(name, "a list of words")
	return nil
}

// wholes is a list of whole numbers, or one.
func (r *paramReader) wholes(name string) []int {
	v, ok := r.get(name)
	if !ok {
		return nil
	}
	var list []any
	switch v := v.(type) {
	case []int:
		return v
	case []any:
		list = v
	default:
		list = []any{v}
	}
	out := make([]int, len(list))
	for i, x := range list {
		var ok bool
		if out[i], ok = (estimator.Params{"x": x}).Int("x", 0); !ok {
			r.refuse(name, "a list of whole numbers")
			return nil
		}
	}
	return out
}

// columns are declared columns by name.
func (r *paramReader) columns(name string) []feature.Column {
	names := r.texts(name)
	if len(names) == 0 {
		return nil
	}
	if r.set == nil {
		r.fail(name, errors.New("no columns are declared: list them under feature_columns"))
		return nil
	}
	c, err := r.set.Columns(names...)
	if err != nil {
		r.fail(name, err)
	}
	return c
}

// optimizer is a name, whose learning rate is then rate, or a map of a name and
// its hyper-parameters; nil where it is not given.
func (r *paramReader) optimizer(name string, rate float64) *optimizers.Optimizer {
	v, ok := r.get(name)
	if !ok {
		return nil
	}
	var o *optimizers.Optimizer
	var err error
	switch v := v.(type) {
	case string:
		o, err = named(v, rate)
	case map[string]any:
		params := maps.Clone(v)
		rule, isText := params["name"].(string)
		delete(params, "name")
		if !isText {
			r.fail(name+".name", errors.New("expected the name of an optimizer"))
			return nil
		}
		o, err = made(rule, params)
	default:
		r.refuse(name, "a name, or a map of a name and hyper-parameters")
		return nil
	}
	if err != nil {
		r.fail(name, err)
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
		r.fail(name, err)
	}
	return a
}

func (r *paramReader) combiner(name string) feature.Combiner {
	return feature.Combiner(r.text(name))
}

// kindOfHead says which parameters tell of a model's head.
type kindOfHead int

const (
	classes kindOfHead = iota // n_classes
	numbers                   // label_dimension
	anyHead                   // head and what it takes
)

// head makes the head; the parameters are as of heads.FromParams, but that
// the number of classes has tf.estimator's name.
func (r *paramReader) head(k kindOfHead) heads.Head {
	p := estimator.Params{}
	names := []string{"weight_column", "loss_reduction"}
	switch k {
	case classes:
		names = append(names, "n_classes", "label_vocabulary", "class_names", "thresholds")
		p["classes"] = 2
	case numbers:
		names = append(names, "label_dimension")
		p["label_dimension"] = 1
	case anyHead:
		names = append(names, "head", "n_classes", "label_dimension", "label_vocabulary", "class_names", "thresholds")
	}
	countable := true
	for _, name := range names {
		v, ok := r.get(name)
		switch {
		case !ok:
		case name == "n_classes":
			if _, countable = r.params.Int(name, 0); !countable {
				r.refuse(name, "a whole number")
			}
			p["classes"] = v
		default:
			p[name] = v
		}
	}
	if !countable {
		return nil
	}
	h, _, err := heads.FromParams(p)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return h
}
