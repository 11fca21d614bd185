package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/registry"
)

// ErrUnknown is wrapped by New's error for a name that is not registered.
var ErrUnknown = registry.ErrUnknown

// A Param sets one parameter of a metric made by New.
type Param struct {
	name string
	set  func(*settings)
}

// settings are the parameters of all kinds; each kind reads its own.
type settings struct {
	summation  Summation
	thresholds []float64
	bound      float64
	count      int
	k          int
	classes    int
	fromLogits bool
	targets    []int
	outputs    int
	bleu       BLEUOptions
	beta       *float64
}

// WithThresholds sets the thresholds of precision, recall, ..., and the one threshold of binary_accuracy. Default 0.5.
func WithThresholds(ts ...float64) Param {
	return Param{"thresholds", func(s *settings) { s.thresholds = ts }}
}

// WithNumThresholds sets the number of thresholds of auc and the operating points. Default 200.
func WithNumThresholds(n int) Param {
	return Param{"num_thresholds", func(s *settings) { s.count = n }}
}

// WithSummation sets the summation method of auc and auc_precision_recall. Default Interpolation.
func WithSummation(m Summation) Param {
	return Param{"summation", func(s *settings) { s.summation = m }}
}

// WithBound sets the bound of an operating point, in [0, 1]. There is no default.
func WithBound(b float64) Param { return Param{"bound", func(s *settings) { s.bound = b }} }

// WithK sets the k of top_k. There is no default.
func WithK(k int) Param { return Param{"k", func(s *settings) { s.k = k }} }

// WithClasses sets the number of classes of confusion_matrix and the metrics of single classes (f1_macro, iou, ...). There is no default.
func WithClasses(n int) Param { return Param{"classes", func(s *settings) { s.classes = n }} }

// WithBeta sets how many times as much recall counts as precision in fbeta, fbeta_macro, ... Default 1.
func WithBeta(beta float64) Param { return Param{"beta", func(s *settings) { s.beta = &beta }} }

// WithTargets sets the classes that iou and binary_iou count. Default: all.
func WithTargets(classes ...int) Param {
	return Param{"class_ids", func(s *settings) { s.targets = classes }}
}

// WithOutputs sets the number of outputs of r2. Default 1.
func WithOutputs(n int) Param { return Param{"outputs", func(s *settings) { s.outputs = n }} }

// WithOrder sets the length of the longest n-grams of bleu. Default 4.
func WithOrder(n int) Param { return Param{"max_order", func(s *settings) { s.bleu.MaxOrder = n }} }

// WithSmoothing sets the smoothing method of bleu. Default SmoothExp.
func WithSmoothing(m Smoothing) Param {
	return Param{"smoothing", func(s *settings) { s.bleu.Smoothing = m }}
}

// WithEnd sets the id that ends a sentence for bleu. Default: none.
func WithEnd(id int64) Param { return Param{"end", func(s *settings) { s.bleu.End = &id }} }

// WithLogits says whether sparse_categorical_crossentropy and perplexity take logits. Default false: probabilities.
func WithLogits(on bool) Param { return Param{"from_logits", func(s *settings) { s.fromLogits = on }} }

// maker makes one kind of metric. The parameters in takes are optional, except for the first if required.
type maker struct {
	takes    []string
	required bool // the first of takes must be given
	make     func(settings) (Accumulator, error)
}

var makers = registry.New("metric", map[string]maker{
	"accuracy":                        plain(func() Accumulator { return NewAccuracy() }),
	"accuracy_baseline":               plain(func() Accumulator { return NewAccuracyBaseline() }),
	"mean":                            plain(func() Accumulator { return NewMean() }),
	"min":                             plain(func() Accumulator { return NewMin() }),
	"max":                             plain(func() Accumulator { return NewMax() }),
	"mse":                             plain(func() Accumulator { return NewMSE() }),
	"mean_squared_error":              plain(func() Accumulator { return NewMSE() }),
	"rmse":                            plain(func() Accumulator { return NewRMSE() }),
	"root_mean_squared_error":         plain(func() Accumulator { return NewRMSE() }),
	"mae":                             plain(func() Accumulator { return NewMAE() }),
	"mean_absolute_error":             plain(func() Accumulator { return NewMAE() }),
	"mape":                            plain(func() Accumulator { return NewMAPE() }),
	"mean_absolute_percentage_error":  plain(func() Accumulator { return NewMAPE() }),
	"cosine_similarity":               plain(func() Accumulator { return NewCosineSimilarity() }),
	"r2":                              {takes: []string{"outputs"}, make: makeR2},
	"log_loss":                        plain(func() Accumulator { return NewLogLoss() }),
	"sparse_categorical_crossentropy": {takes: []string{"from_logits"}, make: makeCrossentropy},
	"perplexity":                      {takes: []string{"from_logits"}, make: makePerplexity},
	"binary_accuracy":                 {takes: []string{"thresholds"}, make: makeBinaryAccuracy},
	"precision":                       atThresholds(NewPrecision),
	"precision_at_thresholds":         atThresholds(NewPrecision),
	"recall":                          atThresholds(NewRecall),
	"recall_at_thresholds":            atThresholds(NewRecall),
	"sensitivity":                     atThresholds(NewRecall),
	"specificity":                     atThresholds(NewSpecificity),
	"true_positives":                  atThresholds(NewTruePositives),
	"false_positives":                 atThresholds(NewFalsePositives),
	"true_negatives":                  atThresholds(NewTrueNegatives),
	"false_negatives":                 atThresholds(NewFalseNegatives),
	"f1":                              atThresholds(NewF1),
	"f1_macro":                        averaged(Macro),
	"f1_micro":                        averaged(Micro),
	"f1_weighted":                     averaged(Weighted),
	"f1_per_class":                    averaged(Each),
	"fbeta":                           {takes: []string{"beta", "thresholds"}, make: makeFBeta},
	"fbeta_macro":                     averagedFBeta(Macro),
	"fbeta_micro":                     averagedFBeta(Micro),
	"fbeta_weighted":                  averagedFBeta(Weighted),
	"fbeta_per_class":                 averagedFBeta(Each),
	"sensitivity_at_specificity":      atBound(NewSensitivityAtSpecificity),
	"specificity_at_sensitivity":      atBound(NewSpecificityAtSensitivity),
	"precision_at_recall":             atBound(NewPrecisionAtRecall),
	"recall_at_precision":             atBound(NewRecallAtPrecision),
	"auc":                             underCurve(ROC),
	"auc_precision_recall":            underCurve(PR),
	"top_k":                           {takes: []string{"k"}, required: true, make: makeTopK},
	"confusion_matrix":                {takes: []string{"classes"}, required: true, make: makeConfusionMatrix},
	"mean_iou":                        {takes: []string{"classes"}, required: true, make: makeMeanIoU},
	"iou":                             {takes: []string{"classes", "class_ids"}, required: true, make: makeIoU},
	"iou_per_class":                   {takes: []string{"classes"}, required: true, make: makeIoUPerClass},
	"binary_iou":                      {takes: []string{"thresholds", "class_ids"}, make: makeBinaryIoU},
	"bleu":                            {takes: []string{"max_order", "smoothing", "end"}, make: makeBLEU},
})

// Names returns the names that New knows, sorted.
func Names() []string { return makers.Names() }

// New returns an empty accumulator of the kind registered as name. The error wraps
// ErrUnknown for another name, and ErrParameter for a parameter that is missing, out
// of range, or does not belong to that kind.
func New(name string, params ...Param) (Accumulator, error) {
	m, err := makers.Lookup(name)
	if err != nil {
		return nil, err
	}
	var s settings
	given := make([]string, 0, len(params))
	for _, p := range params {
		if !slices.Contains(m.takes, p.name) {
			return nil, fmt.Errorf("%s: %w %s: expected %s", name, ErrParameter, p.name, takesText(m.takes))
		}
		p.set(&s)
		given = append(given, p.name)
	}
	if m.required && !slices.Contains(given, m.takes[0]) {
		return nil, fmt.Errorf("%s: %w: expected %s, got none", name, ErrParameter, m.takes[0])
	}
	return m.make(s)
}

func takesText(names []string) string {
	if len(names) == 0 {
		return "no parameters"
	}
	return strings.Join(names, " or ")
}

// plain returns a maker without parameters.
func plain(f func() Accumulator) maker {
	return maker{make: func(settings) (Accumulator, error) { return f(), nil }}
}

func atThresholds(f func(...float64) (*AtThresholds, error)) maker {
	return maker{takes: []string{"thresholds"}, make: func(s settings) (Accumulator, error) { return made(f(s.thresholds...)) }}
}

func atBound(f func(float64, int) (*OperatingPoint, error)) maker {
	return maker{takes: []string{"bound", "num_thresholds"}, required: true, make: func(s settings) (Accumulator, error) {
		return made(f(s.bound, s.count))
	}}
}

func underCurve(c Curve) maker {
	return maker{takes: []string{"num_thresholds", "summation"}, make: func(s settings) (Accumulator, error) {
		return made(NewAUC(AUCOptions{Curve: c, Summation: s.summation, NumThresholds: s.count}))
	}}
}

func makeCrossentropy(s settings) (Accumulator, error) {
	return NewSparseCategoricalCrossentropy(s.fromLogits), nil
}

func makePerplexity(s settings) (Accumulator, error) { return NewPerplexity(s.fromLogits), nil }

func makeR2(s settings) (Accumulator, error) {
	if s.outputs == 0 {
		s.outputs = 1
	}
	return made(NewR2(s.outputs))
}

// averaged returns a maker of F1 scores of classes. It takes a threshold if examples may have any number of classes.
func averaged(a Average) maker {
	return maker{takes: []string{"classes", "thresholds"}, required: true, make: func(s settings) (Accumulator, error) {
		if len(s.thresholds) == 0 {
			return made(NewClassF1(a, s.classes))
		}
		at, err := s.threshold("f1_" + string(a))
		if err != nil {
			return nil, err
		}
		return made(NewLabelF1(a, s.classes, at))
	}}
}

// weight returns the beta of an F score.
func (s settings) weight() float64 {
	if s.beta == nil {
		return 1
	}
	return *s.beta
}

func makeFBeta(s settings) (Accumulator, error) { return made(NewFBeta(s.weight(), s.thresholds...)) }

// averagedFBeta is averaged for F scores with a beta.
func averagedFBeta(a Average) maker {
	return maker{takes: []string{"classes", "thresholds", "beta"}, required: true, make: func(s settings) (Accumulator, error) {
		if len(s.thresholds) == 0 {
			return made(NewClassFBeta(a, s.weight(), s.classes))
		}
		at, err := s.threshold("fbeta_" + string(a))
		if err != nil {
			return nil, err
		}
		return made(NewLabelFBeta(a, s.weight(), s.classes, at))
	}}
}

// threshold returns the only threshold, by default 0.5.
func (s settings) threshold(name string) (float64, error) {
	switch len(s.thresholds) {
	case 0:
		return 0.5, nil
	case 1:
		return s.thresholds[0], nil
	}
	return 0, fmt.Errorf("%s: %w: expected one threshold, got %v", name, ErrParameter, s.thresholds)
}

func makeBinaryAccuracy(s settings) (Accumulator, error) {
	at, err := s.threshold("binary_accuracy")
	if err != nil {
		return nil, err
	}
	return made(NewBinaryAccuracy(at))
}

func makeIoU(s settings) (Accumulator, error) { return made(NewIoU(s.classes, s.targets...)) }

func makeIoUPerClass(s settings) (Accumulator, error) { return made(NewIoUPerClass(s.classes)) }

func makeBinaryIoU(s settings) (Accumulator, error) {
	at, err := s.threshold("binary_iou")
	if err != nil {
		return nil, err
	}
	return made(NewBinaryIoU(at, s.targets...))
}

func makeBLEU(s settings) (Accumulator, error) { return made(NewBLEU(s.bleu)) }

func makeTopK(s settings) (Accumulator, error) { return made(NewTopK(s.k)) }

func makeConfusionMatrix(s settings) (Accumulator, error) { return made(NewConfusionMatrix(s.classes)) }

func makeMeanIoU(s settings) (Accumulator, error) { return made(NewMeanIoU(s.classes)) }

// made keeps a constructor's nil pointer from becoming a non-nil interface.
func made[A Accumulator](a A, err error) (Accumulator, error) {
	if err != nil {
		return nil, err
	}
	return a, nil
}
