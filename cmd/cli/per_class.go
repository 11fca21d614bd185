package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/config"
)

// The metric that class reports are computed from, and the parameter with a head's additional metrics.
const (
	confusionMatrix = "confusion_matrix"
	paramMetrics    = "metrics"
)

// languageModel is the name of the canned language model, which has neither classes nor requests with rows.
const languageModel = "language_model"

// checkPerClass returns an error that says why a model has no class report.
func checkPerClass(m config.Model) error {
	head := m.Params["head"]
	numbers := slices.Contains([]any{"regression", "poisson", "logistic", "reconstruction"}, head) || head == nil && m.Params["label_dimension"] != nil
	switch {
	case head == "multi_label":
		return errors.New("--per-class: the head multi_label has no confusion matrix: set model.params.metrics to [f1_per_class]")
	case numbers, strings.HasSuffix(m.Name, "_regressor"), m.Name == languageModel:
		return fmt.Errorf("--per-class: model %s has no classes, as classifiers have them: leave the flag out", m.Name)
	}
	return nil
}

// withConfusionMatrix adds the confusion matrix to the metrics of a config's model.
func withConfusionMatrix(cfg *config.Config) *config.Config {
	c := *cfg
	c.Model.Params = maps.Clone(cfg.Model.Params)
	if c.Model.Params == nil {
		c.Model.Params = map[string]any{}
	}
	var list []any
	switch given := c.Model.Params[paramMetrics].(type) {
	case []any:
		list = slices.Clone(given)
	case string:
		for _, name := range strings.Split(given, ",") {
			list = append(list, strings.TrimSpace(name))
		}
	}
	if !slices.Contains(list, any(confusionMatrix)) {
		list = append(list, confusionMatrix)
	}
	c.Model.Params[paramMetrics] = list
	return &c
}

// classReport has the metrics of each class in an evaluation.
type classReport struct {
	Classes []classRow  `json:"classes"`
	Matrix  [][]float64 `json:"confusion_matrix"` // rows are labels, columns predictions
	columns []string    // names of the metrics in More
}

// classRow is one class of a report.
type classRow struct {
	Class     string             `json:"class"`
	Precision float64            `json:"precision"`
	Recall    float64            `json:"recall"`
	F1        float64            `json:"f1"`
	Support   float64            `json:"support"`
	More      map[string]float64 `json:"metrics,omitempty"` // further metrics with a value for each class
}

// classReports computes reports from the confusion matrices of an evaluation, by their names.
func classReports(all map[string]metrics.Value, names []string) (map[string]classReport, error) {
	out := map[string]classReport{}
	for _, name := range sortedNames(all) {
		if base, _, _ := strings.Cut(name, "/"); base != confusionMatrix {
			continue
		}
		report, err := newClassReport(all[name], names)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
		for other, v := range all {
			if strings.HasSuffix(other, "_per_class") && len(v.Shape) == 1 && len(v.Data) == len(report.Classes) && name == confusionMatrix {
				report.add(other, v.Data)
			}
		}
		slices.Sort(report.columns)
		out[name] = report
	}
	return out, nil
}

func newClassReport(matrix metrics.Value, names []string) (r classReport, err error) {
	rows, err := metrics.PerClass(matrix)
	if err != nil {
		return r, err
	}
	for i, c := range rows {
		name := strconv.Itoa(i)
		if len(names) == len(rows) {
			name = names[i]
		}
		r.Classes = append(r.Classes, classRow{Class: name, Precision: c.Precision, Recall: c.Recall, F1: c.F1, Support: c.Support})
		r.Matrix = append(r.Matrix, matrix.Data[i*len(rows):(i+1)*len(rows)])
	}
	return r, nil
}

// add adds a metric. Values that are not finite are left out, since JSON has none.
func (r *classReport) add(name string, values []float64) {
	r.columns = append(r.columns, name)
	for i, v := range values {
		if !isFinite(v) {
			continue
		}
		if r.Classes[i].More == nil {
			r.Classes[i].More = map[string]float64{}
		}
		r.Classes[i].More[name] = v
	}
}

// mostPrinted is the largest number of classes for which the matrix is printed as text.
const mostPrinted = 25

// String returns a table of the classes, and the matrix if it is not too wide.
func (r classReport) String() string {
	t := newTextTable(append([]string{"class", "precision", "recall", "f1", "support"}, r.columns...)...)
	for i := 1; i < 5+len(r.columns); i++ {
		t.right(i)
	}
	for _, c := range r.Classes {
		cells := []string{c.Class, share(c.Precision), share(c.Recall), share(c.F1), weightText(c.Support)}
		for _, name := range r.columns {
			cells = append(cells, share(c.More[name]))
		}
		t.add(cells...)
	}
	if len(r.Classes) > mostPrinted {
		return t.String() + fmt.Sprintf("confusion matrix: of %d classes, --json prints it\n", len(r.Classes))
	}
	return t.String() + "\n" + r.matrixTable().String()
}

func (r classReport) matrixTable() *textTable {
	header := []string{"label \\ predicted"}
	for _, c := range r.Classes {
		header = append(header, c.Class)
	}
	t := newTextTable(header...)
	for i, c := range r.Classes {
		t.right(i + 1)
		cells := []string{c.Class}
		for _, w := range r.Matrix[i] {
			cells = append(cells, weightText(w))
		}
		t.add(cells...)
	}
	return t
}

func share(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

// weightText formats a number of examples, or the sum of their weights.
func weightText(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// printClassReports prints class reports below the other metrics.
func (a *app) printClassReports(reports map[string]classReport) error {
	for _, name := range slices.Sorted(maps.Keys(reports)) {
		title := "\n"
		if name != confusionMatrix {
			title = "\n" + name + "\n"
		}
		if _, err := fmt.Fprint(a.stdout, title, reports[name]); err != nil {
			return err
		}
	}
	return nil
}

// classNames are the names of a config's classes; nil if there are none.
func classNames(cfg *config.Config) []string {
	p, err := modelParams(cfg)
	if err != nil {
		return nil
	}
	for _, param := range []string{paramVocabulary, paramNames} {
		if words := wordsOf(p, param); len(words) > 0 {
			return words
		}
	}
	return nil
}

// wordsOf is a parameter with a list of words.
func wordsOf(p estimator.Params, name string) []string {
	switch list := p[name].(type) {
	case []string:
		return list
	case []any:
		words := make([]string, len(list))
		for i, w := range list {
			words[i] = fmt.Sprint(w)
		}
		return words
	case string:
		return strings.Split(list, ",")
	}
	return nil
}
