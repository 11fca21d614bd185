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
}

// WithThresholds gives precision, recall, ... their thresholds, and binary_accuracy its one. Default 0.5.
func WithThresholds(ts ...float64) Param {
	return Param{"thresholds", func(s *settings) { s.thresholds = ts }}
}

// WithNumThresholds gives auc and the operating points the number of their thresholds. Default 200.
func WithNumThresholds(n int) Param {
	return Param{"num_thresholds", func(s *settings) { s.count = n }}
}

// WithSummation gives auc and auc_precision_recall their summation method. Default Interpolation.
func WithSummation(m Summation) Param {
	return Param{"summation", func(s *settings) { s.summation = m }}
}

// WithBound gives an operating point its bound in [0, 1]; it has no default.
func WithBound(b float64) Param { return Param{"bound", func(s *settings) { s.bound = b }} }

// WithK gives top_k its k; it has no default.
func WithK(k int) Param { return Param{"k", func(s *settings) { s.k = k }} }

// WithClasses gives confusion_matrix and mean_iou the number of classes; it has no default.
func WithClasses(n int) Param { return Param{"classes", func(s *settings) { s.classes = n }} }

// WithLogits says whether sparse_categorical_crossentropy takes logits. Default false: probabilities.
func WithLogits(on bool) Param { return Param{"from_logits", func(s *settings) { s.fromLogits = on }} }

// maker makes one kind from the parameters that it takes; which are optional but for the first where required.
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
	"log_loss":                        plain(func() Accumulator { return NewLogLoss() }),
	"sparse_categorical_crossentropy": {takes: []string{"from_logits"}, make: makeCrossentropy},
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
	"sensitivity_at_specificity":      atBound(NewSensitivityAtSpecificity),
	"specificity_at_sensitivity":      atBound(NewSpecificityAtSensitivity),
	"precision_at_recall":             atBound(NewPrecisionAtRecall),
	"recall_at_precision":             atBound(NewRecallAtPrecision),
	"auc":                             underCurve(ROC),
	"auc_precision_recall":            underCurve(PR),
	"top_k":                           {takes: []string{"k"}, required: true, make: makeTopK},
	"confusion_matrix":                {takes: []string{"classes"}, required: true, make: makeConfusionMatrix},
	"mean_iou":                        {takes: []string{"classes"}, required: true, make: makeMeanIoU},
})

// Names returns the names that New knows, sorted.
func Names() []string { return makers.Names() }

// New returns an empty accumulator of the kind that name registers. It fails
// with ErrUnknown for another name, and with ErrParameter for a parameter that is
// missing, out of range, or not one of that kind.
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

// plain is a maker without parameters.
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

func makeBinaryAccuracy(s settings) (Accumulator, error) {
	switch len(s.thresholds) {
	case 0:
		return made(NewBinaryAccuracy(0.5))
	case 1:
		return made(NewBinaryAccuracy(s.thresholds[0]))
	}
	return nil, fmt.Errorf("binary_accuracy: %w: expected one threshold, got %v", ErrParameter, s.thresholds)
}

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
