package metrics

import "strings"

// Form describes a metric of this package to other implementations of it, such as the graph
// of an exported model. Fields that do not apply to a kind are zero.
type Form struct {
	Name       string    // the name that New takes, or an equivalent one
	Thresholds []float32 // ascending
	Order      []int     // the index in Thresholds of each result
	Bound      float64
	K          int
	Classes    int
	Beta       float64 // of an F score other than F1
	Targets    []int   // the classes that count
	Outputs    int
	FromLogits bool
	Curve      Curve
	Summation  Summation
	Formula    *Formula // of a metric that NewFormula made
}

// FormOf returns the form of a metric of this package; ok is false for an Accumulator of another type.
func FormOf(acc Accumulator) (f Form, ok bool) {
	switch m := acc.(type) {
	case *Mean:
		f = m.form()
	case *Min:
		f = m.form()
	case *Max:
		f = m.form()
	case *AccuracyBaseline:
		f = m.form()
	case *Accuracy:
		f = m.form()
	case *MeanError:
		f = m.form()
	case *BinaryAccuracy:
		f = m.form()
		f.Thresholds = []float32{m.threshold}
	case *CrossEntropy:
		f = m.form()
		f.FromLogits = m.fromLogits
	case *Perplexity:
		f = m.form()
		f.FromLogits = m.fromLogits
	case *CosineSimilarity:
		f = m.form()
	case *R2:
		f = m.form()
		f.Outputs = m.outputs
	case *ClassF1:
		f = m.form()
		f.Classes, f.Beta = m.classes, m.beta
		if m.threshold != nil {
			f.Thresholds = []float32{*m.threshold}
		}
	case *IoU:
		f = m.form()
		f.Classes, f.Targets = m.classes, m.targets
	case *BinaryIoU:
		f = m.form()
		f.Classes, f.Targets, f.Thresholds = 2, m.targets, []float32{m.from}
	case *TopK:
		f = m.form()
		f.K = m.k
	case *ConfusionMatrix:
		f = m.form()
		f.Classes = m.classes
	case *MeanIoU:
		f = m.form()
		f.Classes = m.classes
	case *AtThresholds:
		f = m.form()
		f.Thresholds, f.Order, f.Beta = m.thresholds, m.order, m.beta
	case *OperatingPoint:
		f = m.form()
		f.Thresholds, f.Bound = m.thresholds, m.bound
	case *AUC:
		f = m.form()
		f.Thresholds, f.Curve, f.Summation = m.thresholds, m.options.Curve, m.options.Summation
	case *Formula:
		f = m.form()
		f.Formula = m
	default:
		return f, false
	}
	return f, true
}

// form returns the form of a kind without parameters.
func (s *state) form() Form {
	name, _, _ := strings.Cut(s.kind, "(")
	return Form{Name: name}
}
