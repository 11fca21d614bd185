package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/internal/platform/textvalue"
)

// candidate is a model that init tries.
type candidate struct {
	name, what string
	forest     forest // settings of boosted trees; zero: a network
	units      []int  // layers of a network
	wide       bool   // a linear model of words, combined with a network of the other columns if there are any
	linear     bool   // a linear model of all columns
	textless   bool   // leaves out text columns
	rate       float64
	dropout    float64
	scores     []float64 // on the held-out folds
	score      float64   // their mean; 0: not tried
}

// kind is the suffix of model names.
func (d *draft) kind() string {
	if d.regression() {
		return "regressor"
	}
	return "classifier"
}

// candidates are the models that are always tried for a table, most often the best one first.
func (d *draft) candidates() []candidate {
	var out []candidate
	for _, f := range d.known() {
		out = append(out, d.boosted(f))
	}
	if slices.Contains(d.uses, tabular.Texts) {
		early := []candidate{d.wide()}
		if d.hasOthers() {
			early = append(early, out[0].withoutTexts(), d.net(0.002, 0.1, 32, 16).withoutTexts())
		}
		return slices.Concat(out[:1], early, out[1:])
	}
	// One of each kind comes early, in case there is time for only a few.
	if first := max(len(d.own()), 1); d.trainRows() < 3000 {
		if d.manyColumns() && len(d.own()) == 0 { // trees with a share of the columns miss a few strong ones, trees with all columns miss many weak ones
			first = 2
		}
		return slices.Concat(out[:first], []candidate{d.net(0.002, 0.1, 32, 16), d.linear(0.02)}, out[first:3], []candidate{d.net(0.004, 0, 64, 64), d.net(0.01, 0, 8)}, out[3:])
	}
	first := 2
	if len(d.own()) == 0 && !d.manyColumns() { // small trees suit noisy labels, and are fast
		first = 3
	}
	return slices.Concat(out[:first], []candidate{d.net(0.002, 0.1, 128, 64), d.linear(0.02)}, out[first:])
}

// quickNetworks are tried before small forests when there is no time for large forests; none for texts.
func (d *draft) quickNetworks() []candidate {
	if slices.Contains(d.uses, tabular.Texts) {
		return nil
	}
	return []candidate{d.net(0.002, 0.1, 128, 64)}
}

// net is a network as a candidate.
func (d *draft) net(rate, dropout float64, units ...int) candidate {
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(units), " ", " and "), "[]")
	return candidate{name: "dnn_" + d.kind(), units: units, rate: rate, dropout: dropout, what: fmt.Sprintf("network (hidden layers of %s units, rate %g, dropout %g)", text, rate, dropout)}
}

// linear is a linear model as a candidate.
func (d *draft) linear(rate float64) candidate {
	return candidate{name: "linear_" + d.kind(), what: fmt.Sprintf("linear model (rate %g)", rate), rate: rate, linear: true}
}

// nearNetwork are variations of a network or linear model, which may be better.
func (d *draft) nearNetwork(c candidate) []candidate {
	switch {
	case c.wide:
		return nil
	case c.linear && c.rate < 0.05: // a higher rate may overfit few rows
		return []candidate{d.linear(5 * c.rate)}
	case c.linear:
		return nil
	}
	var out []candidate
	wider := slices.Clone(c.units)
	for i := range wider {
		wider[i] *= 2
	}
	more := map[float64]float64{0: 0.1, 0.1: 0.3, 0.3: 0.5}[c.dropout]
	if more > 0 {
		out = append(out, d.net(c.rate, more, c.units...))
	}
	if wider[0] <= 512 {
		out = append(out, d.net(c.rate, max(c.dropout, more), wider...), d.net(c.rate, c.dropout, wider...))
	}
	return append(out, d.net(c.rate/2, c.dropout, c.units...))
}

// wide is a linear model of words as a candidate.
func (d *draft) wide() candidate {
	c := candidate{name: "linear_" + d.kind(), what: "linear model of words", rate: 0.03, wide: true}
	if d.hasOthers() {
		c.name, c.what, c.units = "dnn_linear_combined_"+d.kind(), "linear model of words, and a network (hidden layers of 64 and 32 units)", []int{64, 32}
	}
	return c
}

// hasOthers reports whether there are columns other than texts.
func (d *draft) hasOthers() bool {
	return slices.ContainsFunc(d.uses, func(u tabular.Use) bool { return isFeature(u) && u != tabular.Texts })
}

// withoutTexts leaves out text columns, such as names, whose words may carry no information.
func (c candidate) withoutTexts() candidate {
	c.textless, c.what = true, c.what+" without texts"
	return c
}

// mean sets the score to the mean over the first folds.
func (c *candidate) mean(folds int) {
	c.score = 0
	for _, v := range c.scores[:folds] {
		c.score += v / float64(folds)
	}
}

// network reports whether a candidate is a network or linear model, not a forest.
func (c candidate) network() bool { return c.forest.trees == 0 }

// labelScale are the lines that scale labels of any size to a deviation of 1, which models learn well.
func (d *draft) labelScale() []string {
	c := d.label()
	if !d.regression() || !(c.Std > 0) {
		return nil
	}
	return []string{fmt.Sprintf("label_mean: %g   # it learns (label - label_mean) / label_std, which is its loss; predictions, rmse and mae are in the label's unit", c.Mean),
		fmt.Sprintf("label_std: %g", c.Std)}
}

// columns are the declarations of feature columns, and the names that the model reads.
func (d *draft) columns(m candidate) (lines, names []string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("{name: %s, "+format+"}", append([]any{yamlText(name)}, args...)...))
	}
	free := d.freeNames()
	for i, u := range d.uses {
		c := d.p.Columns[i]
		key, name := yamlText(c.Name), c.Name
		switch u {
		case tabular.Numeric:
			add(name, "type: numeric, key: %s%s, %s", key, readKeys(c.Reading), numericKeys(m))
			if c.Missing > 0 && !m.network() { // a split decides on which side missing numbers go
				names = append(names, name)
				name = free(name + " missing last")
				add(name, "type: numeric, key: %s%s, missing: largest", key, readKeys(c.Reading))
			}
		case tabular.Dates:
			for _, part := range d.p.Parts(i) {
				r := c.Reading
				r.Part = part
				name := free(c.Name + " " + string(part))
				add(name, "type: numeric, key: %s%s, %s", key, readKeys(r), numericKeys(m))
				names = append(names, name)
			}
			continue
		case tabular.Category:
			name = d.category(m, i, add, free)
		case tabular.Texts:
			if m.textless {
				continue
			}
			name = d.words(m, i, add, free)
		default:
			continue
		}
		names = append(names, name)
	}
	return lines, names
}

// category declares a categorical column, and returns the name of the column that the model reads.
func (d *draft) category(m candidate, i int, add func(name, format string, args ...any), free func(string) string) string {
	c := d.p.Columns[i]
	key, size, more := yamlText(c.Name), treeValues, ""
	if m.network() {
		size = d.netValues()
	}
	if c.SometimesThere() && int64(c.Distinct) > (c.Rows-c.Missing)/2 {
		more = ", min_count: 3" // rare values count as out of vocabulary
	}
	if d.numbered(i, tabular.Category) {
		more += ", dtype: int64"
	}
	add(c.Name, "type: vocabulary, key: %s, adapt: true, size: %d%s, oov_buckets: 1", key, size, more)
	switch {
	case m.linear || !m.network(): // a linear model has a weight for each value, and trees split on values
		return c.Name
	case c.Distinct <= oneHotValues:
		name := free(c.Name + " one-hot")
		add(name, "type: indicator, of: %s", key)
		return name
	}
	name := free(c.Name + " vector")
	add(name, "type: embedding, of: %s, dimension: 8", key)
	return name
}

// netValues is the largest vocabulary of networks and linear models. It grows with the table, as long as there are enough rows for each
// value.
func (d *draft) netValues() int {
	return min(max(fewestNetValues, d.trainRows()/rowsOfValue), mostNetValues)
}

// words declares a text column, and returns the name of the column that the model reads.
func (d *draft) words(m candidate, i int, add func(name, format string, args ...any), free func(string) string) string {
	c := d.p.Columns[i]
	key, name := yamlText(c.Name), free(c.Name+" words")
	if !m.network() {
		add(name, "type: words, key: %s, punctuation: words, adapt: true, size: %d, oov_buckets: 1", key, treeWords-1)
		return name
	}
	add(name, "type: words, key: %s, punctuation: words, adapt: true, size: %d, oov_buckets: %d", key, netWords, otherWords)
	if m.wide {
		return name
	}
	vector := free(name + " vector")
	add(vector, "type: embedding, of: %s, dimension: 16, combiner: sqrtn", yamlText(name))
	return vector
}

// freeNames returns a function that makes a name unique among the file's columns and the names it has returned. Names of variables have an
// underscore for each space and punctuation mark.
func (d *draft) freeNames() func(name string) string {
	plain := func(name string) string { return notInNames.ReplaceAllString(name, "_") }
	taken := map[string]bool{}
	for _, c := range d.p.Columns {
		taken[plain(c.Name)] = true
	}
	return func(name string) string {
		for taken[plain(name)] {
			name += " again"
		}
		taken[plain(name)] = true
		return name
	}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]`)

// readKeys are the keys that say how a text is parsed.
func readKeys(r textvalue.Reading) string {
	if r.Part == "" {
		return ""
	}
	s := ", read: " + string(r.Part)
	if r.Order != "" {
		s += ", date_order: " + string(r.Order)
	}
	if r.Decimal != "" {
		s += fmt.Sprintf(", decimal: %q", r.Decimal)
	}
	if r.Unit != "" {
		s += ", unit: " + r.Unit
	}
	return s
}

// numericKeys are the keys that say how a model treats numbers.
func numericKeys(m candidate) string {
	if m.network() {
		return "missing: median, normalize: {adapt: true}"
	}
	return "allow_nan: true"
}

// params are the lines of model.params.
func (d *draft) params(m candidate, names []string) []string {
	var out []string
	if n := len(d.p.Label.Classes); n > 0 {
		out = append(out, fmt.Sprintf("n_classes: %d", n))
	}
	if d.unbalanced() {
		out = append(out, "# Some class is rare. With weights by which all classes count alike more of it is found, and accuracy is less:", "# class_weights: balanced")
	}
	out = append(out, d.labelScale()...)
	adam := func(rate float64) string {
		return fmt.Sprintf("{name: Adam, learning_rate: {schedule: cosine, initial: %g, decay_steps: %d}}", rate, d.netSteps(m))
	}
	if m.wide && m.units != nil {
		var words, others []string
		for _, n := range names {
			if strings.HasSuffix(n, " words") {
				words = append(words, n)
			} else {
				others = append(others, n)
			}
		}
		return append(out, "linear_feature_columns: "+yamlList(words), "linear_sparse_combiner: sqrtn", "linear_optimizer: "+adam(m.rate),
			"dnn_feature_columns: "+yamlList(others), "dnn_hidden_units: "+unitsText(m.units), "dnn_dropout: 0.1", "dnn_optimizer: "+adam(0.002))
	}
	out = append(out, "feature_columns: "+yamlList(names))
	if m.wide {
		out = append(out, "sparse_combiner: sqrtn")
	}
	if m.wide || m.linear {
		return append(out, "optimizer: "+adam(m.rate))
	}
	if m.network() {
		return append(out, "hidden_units: "+unitsText(m.units), fmt.Sprintf("dropout: %g", m.dropout), "optimizer: "+adam(m.rate))
	}
	rows, f := float64(d.inMemory()), m.forest
	if f.own {
		out = append(out, "class_trees: true         # each class has n_trees of its own")
	}
	out = append(out, fmt.Sprintf("n_trees: %d", f.trees), fmt.Sprintf("max_depth: %d", f.depth),
		fmt.Sprintf("learning_rate: %g          # of every layer, not of every tree", f.rate),
		fmt.Sprintf("l2_regularization: %.2g   # for the mean over the examples: the weight of %g of them", f.l2/rows, f.l2),
		fmt.Sprintf("min_node_weight: %.2g     # of %g", f.leaf/rows, f.leaf))
	if f.columns != 1 {
		out = append(out, fmt.Sprintf("column_share: %g           # of the columns, drawn for each tree, which splits by no others", f.columns))
	}
	return append(out, "center_bias: true", fmt.Sprintf("quantile_sketch_epsilon: %g", d.epsilon()), "train_in_memory: true        # each batch is the whole training data")
}

func unitsText(units []int) string { return strings.ReplaceAll(fmt.Sprint(units), " ", ", ") }

// epsilon is the inverse of the number of buckets of a numeric column.
func (d *draft) epsilon() float64 {
	if d.trainRows() < 3000 && d.width() > 50 { // leaves the search time for several models
		return 0.01
	}
	return 0.004
}

// netBatch is the batch size of a network, netEpochs and netSteps how long it trains.
func (d *draft) netBatch(m candidate) int {
	switch {
	case d.trainRows() < 3000:
		return 32
	case m.wide && d.trainRows() < 50_000:
		return 64
	}
	return 256
}

func (d *draft) netEpochs(m candidate) int {
	if m.wide {
		return max(min(1_000_000/d.trainRows(), 20), 3)
	}
	if most := 1500 * d.netBatch(m) / d.trainRows(); most > 60 {
		return min(most, 400)
	}
	return max(min(1_000_000/d.trainRows(), 60), 3)
}

func (d *draft) netSteps(m candidate) int {
	return max(d.netEpochs(m)*d.trainRows()/d.netBatch(m), 50)
}
