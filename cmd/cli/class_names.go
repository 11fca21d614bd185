package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
)

// The parameters of models that describe their classes.
const (
	paramVocabulary = "label_vocabulary"
	paramNames      = "class_names"
)

// modelParams are the parameters of a config's model. A label column's vocabulary
// turns labels into ids; a classifier gets it as the names of its classes.
func modelParams(cfg *config.Config) (estimator.Params, error) {
	keepClasses(cfg)
	p := estimator.Params(cfg.Model.Params)
	label, ok := labelColumn(cfg)
	count, classifies := classesOf(cfg.Model.Name, p)
	if !ok || !classifies || p[paramNames] != nil {
		return p, nil
	}
	if p[paramVocabulary] != nil {
		return nil, fmt.Errorf("%s: leave it out, or the vocabulary of the label column %q, which makes ids of the labels", paramVocabulary, label.Name)
	}
	n, isNumber := p.Int(count, 2)
	if isNumber && n != len(label.Vocabulary) {
		return nil, fmt.Errorf("%s: got %d, expected %d, as many as the vocabulary of the label column %q has values", count, n, len(label.Vocabulary), label.Name)
	}
	p = maps.Clone(p)
	if p == nil {
		p = estimator.Params{}
	}
	p[paramNames] = slices.Clone(label.Vocabulary)
	return p, nil
}

// keepClasses gives inputs of images and sounds the classes of the training data. A folder that lacks a class then has the same labels, and the
// config beside the checkpoints lists the classes for machines without that data.
func keepClasses(cfg *config.Config) {
	all := []*inputs.Spec{&cfg.Train.Input, &cfg.Eval.Input, &cfg.Predict.Input}
	for _, in := range all {
		names, err := cfg.Resolve(*in).ClassNames()
		if in.Format != "images" && in.Format != "audio" || err != nil {
			continue // the folder is missing: reading it reports that
		}
		for _, other := range all {
			if other.Format == in.Format && len(other.Classes) == 0 {
				other.Classes = names
			}
		}
		return
	}
}

// labelColumn is the config's only label column, if it has a vocabulary. The training data come first, then the other inputs.
func labelColumn(cfg *config.Config) (inputs.ColumnSpec, bool) {
	for _, in := range []inputs.Spec{cfg.Train.Input, cfg.Eval.Input, cfg.Predict.Input} {
		if in.Format == "images" || in.Format == "audio" {
			return inputs.ColumnSpec{Name: "label", Vocabulary: in.Classes}, len(in.Classes) > 0
		}
		labels := slices.DeleteFunc(slices.Clone(in.AllColumns()), func(c inputs.ColumnSpec) bool { return c.Role != "label" })
		if len(labels) > 0 {
			return labels[0], len(labels) == 1 && len(labels[0].Vocabulary) > 0
		}
	}
	return inputs.ColumnSpec{}, false
}

// classesOf reports whether a model has classes, and the parameter that counts them.
func classesOf(model string, p estimator.Params) (param string, classifies bool) {
	head := slices.Contains([]any{"binary", "multi_class", "multi_label"}, p["head"])
	if strings.HasSuffix(model, "_classifier") || p["n_classes"] != nil {
		return "n_classes", true
	}
	if strings.HasSuffix(model, "_estimator") {
		return "n_classes", head
	}
	return "classes", head || p["classes"] != nil
}
