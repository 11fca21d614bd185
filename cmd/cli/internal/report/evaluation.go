package report

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/assess"
	"github.com/goestimator/goestimator/estimator/metrics"
)

// mostCurves is the largest number of classes in one chart; tables have all classes.
const mostCurves = 10

// evaluation is the part of the page about the evaluation on data.
func (r *Run) evaluation() ([]section, error) {
	e := r.Evaluation
	if e == nil {
		return nil, nil
	}
	out := []section{{Title: "Evaluation data", Notes: r.dataNotes()}}
	for i, h := range e.Heads {
		list, err := headSections(i, h)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if e.Importance != nil {
		s, err := importanceSection(e.Importance)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *Run) dataNotes() []string {
	e := r.Evaluation
	notes := []string{fmt.Sprintf("%d rows of %s by %s.", e.Rows, r.DataName, r.Checkpoint)}
	if e.More {
		notes[0] = fmt.Sprintf("The first %d rows of %s by %s; there are more (--rows).", e.Rows, r.DataName, r.Checkpoint)
	}
	for _, why := range slices.Sorted(maps.Keys(e.LeftOut)) {
		notes = append(notes, fmt.Sprintf("Left out: %d, since %s.", e.LeftOut[why], why))
	}
	return append(notes, e.Notes...)
}

func headSections(i int, h assess.Head) ([]section, error) {
	prefix := fmt.Sprintf("head%d", i)
	title := h.Label
	if h.Name != "" && h.Name != h.Label {
		title = h.Name + ": " + h.Label
	}
	var list []section
	var err error
	if h.Classes != nil {
		list, err = classSections(prefix, title, h.Classes)
	} else {
		list, err = regressionSections(prefix, title, h.Regression)
	}
	if err != nil || len(h.Worst) == 0 {
		return list, err
	}
	return append(list, worstSection(title, h)), nil
}

func classSections(prefix, title string, c *assess.Classes) ([]section, error) {
	s := section{Title: "Curves of " + title}
	summary := table{Left: 1, Head: []string{"", "value"}, Rows: [][]string{{"accuracy", num(c.Accuracy)}, {"cross-entropy", num(c.CrossEntropy)}, {"mean ROC AUC", num(c.MacroAUC)}}}
	if c.Confidence != nil {
		summary.Rows = append(summary.Rows, []string{"calibration error of the most probable class", num(c.Confidence.Error)})
	}
	s.Tables = append(s.Tables, summary)
	if len(c.Curves) == 0 {
		s.Title = "Classes of " + title
		s.Notes = append(s.Notes, fmt.Sprintf("There are %d classes: curves are drawn of 100 at most.", len(c.Names)))
		return []section{s}, nil
	}
	drawn := mostFrequent(c.Curves)
	if len(drawn) < len(c.Curves) {
		s.Notes = append(s.Notes, fmt.Sprintf("Drawn: the %d classes that have most examples. Each against the rest.", len(drawn)))
	}
	roc := plane{id: prefix + "roc", title: "ROC", x: "false positive rate", y: "true positive rate", unit: true, list: []series{{"chance", dashed, diagonal}}}
	pr := plane{id: prefix + "pr", title: "Precision and recall", x: "recall", y: "precision", unit: true}
	calibration := plane{id: prefix + "calibration", title: "Calibration", x: "mean predicted probability", y: "share that came true", unit: true, list: []series{{"ideal", dashed, diagonal}}}
	for _, one := range drawn {
		name := one.Class
		roc.list = append(roc.list, series{name, line, one.ROC})
		pr.list = append(pr.list, series{name, line, one.PR})
		if share := float64(one.Positives / (one.Positives + one.Negatives)); len(drawn) == 1 {
			pr.list = append([]series{{"chance", dashed, [][2]float64{{0, share}, {1, share}}}}, pr.list...)
		}
		calibration.list = append(calibration.list, series{name, line, binPoints(one.Bins)})
	}
	for _, p := range []plane{roc, pr, calibration} {
		c, err := p.draw()
		if err != nil {
			return nil, err
		}
		s.Charts = append(s.Charts, c)
	}
	s.Tables = append(s.Tables, curveTable(c.Curves))
	s.Tables = append(s.Tables, calibrationTables(c, drawn)...)
	if c.Confusion == nil {
		return []section{s}, nil
	}
	matrix, err := confusionSection(prefix, title, c)
	return []section{s, matrix}, err
}

// mostFrequent are the classes with the most examples, in their original order.
func mostFrequent(all []assess.Curves) []assess.Curves {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b assess.Curves) int { return cmp.Compare(b.Positives, a.Positives) })
	least := list[min(len(list), mostCurves)-1].Positives
	list = slices.DeleteFunc(slices.Clone(all), func(c assess.Curves) bool { return c.Positives < least })
	return list[:min(len(list), mostCurves)]
}

func curveTable(all []assess.Curves) table {
	t := table{Title: "One class against the rest", Left: 1, Head: []string{"class", "positives", "negatives", "ROC AUC", "average precision", "Brier score", "calibration error"}}
	for _, c := range all {
		auc := num(c.ROCAUC)
		if c.ROCAUC.Finite() && c.Within > 0 {
			auc += fmt.Sprintf(" ± %.1g", float64(c.Within))
		}
		t.Rows = append(t.Rows, []string{c.Class, num(c.Positives), num(c.Negatives), auc, num(c.AveragePrecision), num(c.Brier), num(c.Error)})
	}
	return t
}

func calibrationTables(c *assess.Classes, drawn []assess.Curves) []table {
	var out []table
	add := func(title string, bins []assess.Bin) {
		t := table{Title: title, Folded: true, Head: []string{"probability", "mean predicted", "came true", "examples"}, Left: 1}
		for _, b := range bins {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("%.1f to %.1f", b.From, b.To), number(b.Predicted), number(b.True), number(b.Weight)})
		}
		out = append(out, t)
	}
	for _, one := range drawn {
		add("Calibration of "+one.Class, one.Bins)
	}
	if c.Confidence != nil {
		add("Calibration of the most probable class", c.Confidence.Bins)
	}
	return out
}

func binPoints(bins []assess.Bin) [][2]float64 {
	var out [][2]float64
	for _, b := range bins {
		out = append(out, [2]float64{b.Predicted, b.True})
	}
	return out
}

func confusionSection(prefix, title string, c *assess.Classes) (section, error) {
	s := section{Title: "Classes of " + title}
	all := slices.Concat(c.Confusion...)
	rows, err := metrics.PerClass(metrics.Value{Shape: []int{len(c.Names), len(c.Names)}, Data: all})
	if err != nil {
		return s, err
	}
	t := table{Left: 1, Head: []string{"class", "precision", "recall", "F1", "support"}}
	for i, one := range rows {
		t.Rows = append(t.Rows, []string{c.Names[i], number(one.Precision), number(one.Recall), number(one.F1), number(one.Support)})
	}
	matrix := table{Title: "Confusion matrix as numbers: labels downwards, predictions to the right", Folded: true, Left: 1, Head: append([]string{""}, c.Names...)}
	for i, row := range c.Confusion {
		cells := []string{c.Names[i]}
		for _, w := range row {
			cells = append(cells, number(w))
		}
		matrix.Rows = append(matrix.Rows, cells)
	}
	s.Tables = []table{t, matrix}
	s.Matrix, err = heatMap(prefix+"matrix", c.Names, all)
	return s, err
}

func regressionSections(prefix, title string, r *assess.Residuals) ([]section, error) {
	s := section{Title: "Residuals of " + title, Notes: []string{"A residual is the label less the prediction."}}
	if int64(len(r.Sample)) < r.Of {
		s.Notes = append(s.Notes, fmt.Sprintf("Drawn as dots: %d of %d values, taken at random. Numbers and histogram are of all.", len(r.Sample), r.Of))
	}
	s.Tables = []table{
		{Left: 1, Head: []string{"", "value"}, Rows: [][]string{{"RMSE", num(r.RMSE)}, {"MAE", num(r.MAE)}, {"R²", num(r.R2)}, {"mean residual", num(r.Bias)}}},
		{Title: "Residuals", Head: []string{"5 %", "25 %", "median", "75 %", "95 %"}, Rows: [][]string{{num(r.Quantiles[0]), num(r.Quantiles[1]), num(r.Quantiles[2]), num(r.Quantiles[3]), num(r.Quantiles[4])}}},
	}
	if len(r.Sample) == 0 {
		return []section{s}, nil
	}
	low, high := r.Sample[0][0], r.Sample[0][0]
	var actual, residual [][2]float64
	for _, p := range r.Sample {
		low, high = min(low, p[0], p[1]), max(high, p[0], p[1])
		actual = append(actual, [2]float64{p[0], p[1]})
		residual = append(residual, [2]float64{p[1], p[0] - p[1]})
	}
	for _, p := range []plane{
		{id: prefix + "actual", title: "Actual and predicted", x: "label", y: "prediction", list: []series{{"ideal", dashed, [][2]float64{{low, low}, {high, high}}}, {"rows", dots, actual}}},
		{id: prefix + "residual", title: "Residual by prediction", x: "prediction", y: "residual", list: []series{{"rows", dots, residual}}},
	} {
		c, err := p.draw()
		if err != nil {
			return nil, err
		}
		s.Charts = append(s.Charts, c)
	}
	var names []string
	var values []float64
	var cells [][]string
	for _, b := range r.Histogram {
		names, values = append(names, number(b.From)), append(values, b.Weight)
		cells = append(cells, []string{number(b.From), number(b.To), number(b.Weight)})
	}
	c, err := bars(prefix+"residuals", "Residuals", "residual, lower border", names, values, false)
	s.Charts = append(s.Charts, c)
	s.Tables = append(s.Tables, table{Title: "Histogram of residuals", Folded: true, Head: []string{"from", "to", "examples"}, Rows: cells})
	return []section{s}, err
}

// examples is the table of the worst predictions.
type examples struct {
	Columns []string
	Rows    []exampleRow
}

type exampleRow struct {
	Row                    int64
	Loss, Label, Predicted string
	Inputs                 []inputCell
}

// inputCell is an input of an example: a picture or a text.
type inputCell struct {
	Picture template.URL
	Text    string
}

func worstSection(title string, h assess.Head) section {
	s := section{Title: "Worst predictions of " + title, Notes: []string{fmt.Sprintf("The greatest %s first. Rows count from 0, in the order of the data.", h.Loss)}}
	e := &examples{}
	for _, v := range h.Worst[0].Inputs {
		e.Columns = append(e.Columns, v.Name)
	}
	for _, w := range h.Worst {
		row := exampleRow{Row: w.Row, Loss: num(w.Loss), Label: w.Label, Predicted: w.Predicted}
		for _, v := range w.Inputs {
			cell := inputCell{Text: v.Text}
			if len(v.PNG) > 0 {
				cell.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(v.PNG)) //nolint:gosec // only base64 characters
			}
			row.Inputs = append(row.Inputs, cell)
		}
		e.Rows = append(e.Rows, row)
	}
	s.Examples = e
	return s
}

// mostBars is the largest number of inputs drawn; the table has all.
const mostBars = 25

func importanceSection(im *assess.Importance) (section, error) {
	loss, score := "the loss", im.Score
	if im.ScoreOf != "" {
		loss, score = "the sum of all losses", score+" of "+im.ScoreOf
	}
	s := section{Title: "Importance of inputs", Notes: []string{fmt.Sprintf("How much %s rises, and %s falls, where an input has the values of other rows: %d rows drawn at random, %d times each. "+
		"Inputs that say the same stand in for one another, and each then looks less important than it is.", loss, score, im.Rows, im.Repeats)}}
	list := slices.Clone(im.Inputs)
	slices.SortStableFunc(list, func(a, b assess.Input) int { return cmp.Compare(b.LossRise, a.LossRise) })
	t := table{Left: 1, Head: []string{"input", "rise of loss", "±", "fall of " + score, "±"}}
	var names []string
	var values []float64
	for i, in := range list {
		t.Rows = append(t.Rows, []string{in.Name, num(in.LossRise), num(in.LossDev), num(in.ScoreDrop), num(in.ScoreDev)})
		if i < mostBars && in.LossRise.Finite() {
			names, values = append(names, brief(in.Name)), append(values, float64(in.LossRise))
		}
	}
	s.Tables = []table{t}
	c, err := bars("importance", "Rise of the loss", "rise of the loss, of "+num(im.Loss), names, values, true)
	c.Tall = len(names) > 10
	s.Charts = []chart{c}
	return s, err
}

// brief limits the length of a name on an axis.
func brief(s string) string {
	if r := []rune(strings.TrimSpace(s)); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// num formats a measurement; a dash if there is none.
func num(n assess.Number) string {
	if !n.Finite() {
		return "–"
	}
	return number(float64(n))
}
