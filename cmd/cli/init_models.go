package cli

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// candidate is a model that init tries.
type candidate struct {
	name, what   string
	trees, depth int // of boosted trees; 0: a network
	rate         float64
	units        []int
	score        float64 // the mean over the folds that were held out; 0: not tried
}

// candidates are the models for a table, the one that is most often good first.
func (d *draft) candidates() []candidate {
	var out []candidate
	type grid struct {
		trees, depth int
		rate         float64
	}
	list := []grid{{300, 6, 0.03}, {600, 7, 0.02}, {300, 4, 0.05}, {300, 7, 0.03}, {150, 5, 0.03}}
	if d.trainRows() < 3000 {
		list = []grid{{150, 4, 0.02}, {100, 3, 0.03}, {60, 2, 0.05}, {300, 4, 0.02}, {150, 6, 0.015}, {200, 2, 0.05}}
	}
	kind := "classifier"
	if d.regression() {
		kind = "regressor"
	}
	for _, g := range list {
		out = append(out, candidate{name: "boosted_trees_" + kind, trees: g.trees, depth: g.depth, rate: g.rate,
			what: fmt.Sprintf("boosted trees (%d trees of depth %d, rate %g)", g.trees, g.depth, g.rate)})
	}
	if !d.scaledLabel() {
		return out
	}
	units := []int{128, 64}
	if d.trainRows() < 3000 {
		units = []int{32, 16}
	}
	net := candidate{name: "dnn_" + kind, units: units, rate: 0.002, what: fmt.Sprintf("network (hidden layers of %d and %d units)", units[0], units[1])}
	return append(out[:1:1], append([]candidate{net}, out[1:]...)...)
}

// scaledLabel reports whether a network can learn the label as it is.
func (d *draft) scaledLabel() bool {
	c := d.label()
	return !d.regression() || c.Std > 0.05 && c.Std < 20 && c.Mean < 50 && c.Mean > -50
}

// columns are the declarations of feature columns, and the names that the model reads.
func (d *draft) columns(m candidate) (lines, names []string) {
	for i, u := range d.uses {
		c := d.p.Columns[i]
		key := yamlText(c.Name)
		switch {
		case u == tabular.Numeric && m.trees > 0:
			lines, names = append(lines, fmt.Sprintf("{name: %s, type: numeric, key: %s, allow_nan: true}", key, key)), append(names, c.Name)
		case u == tabular.Numeric:
			lines, names = append(lines, fmt.Sprintf("{name: %s, type: numeric, key: %s, missing: median, normalize: {adapt: true}}", key, key)), append(names, c.Name)
		case u == tabular.Category && m.trees > 0:
			lines, names = append(lines, fmt.Sprintf("{name: %s, type: vocabulary, key: %s, adapt: true, size: %d, oov_buckets: 1}", key, key, treeValues)), append(names, c.Name)
		case u == tabular.Category:
			lines = append(lines, fmt.Sprintf("{name: %s, type: vocabulary, key: %s, adapt: true, size: %d, oov_buckets: 1}", key, key, netValues))
			dense := c.Name + " one-hot"
			if c.Distinct <= oneHotValues {
				lines = append(lines, fmt.Sprintf("{name: %s, type: indicator, of: %s}", yamlText(dense), key))
			} else {
				dense = c.Name + " vector"
				lines = append(lines, fmt.Sprintf("{name: %s, type: embedding, of: %s, dimension: 8}", yamlText(dense), key))
			}
			names = append(names, dense)
		}
	}
	return lines, names
}

// params are the lines of model.params.
func (d *draft) params(m candidate, names []string) []string {
	out := []string{"feature_columns: " + yamlList(names)}
	if n := len(d.p.Label.Classes); n > 0 {
		out = append(out, fmt.Sprintf("n_classes: %d", n))
	}
	if m.trees > 0 {
		rows := float64(d.inMemory())
		return append(out, fmt.Sprintf("n_trees: %d", m.trees), fmt.Sprintf("max_depth: %d", m.depth),
			fmt.Sprintf("learning_rate: %g          # of every layer, not of every tree", m.rate),
			fmt.Sprintf("l2_regularization: %.2g   # for the mean over the examples: a weight of about one of them", 1/rows),
			fmt.Sprintf("min_node_weight: %.2g", 4/rows), "center_bias: true",
			"quantile_sketch_epsilon: 0.004", "train_in_memory: true        # each batch is the whole training data")
	}
	return append(out, fmt.Sprintf("hidden_units: %s", strings.ReplaceAll(fmt.Sprint(m.units), " ", ", ")), "dropout: 0.1",
		fmt.Sprintf("optimizer: {name: Adam, learning_rate: {schedule: cosine, initial: %g, decay_steps: %d}}", m.rate, d.netSteps()))
}

// netBatch is the batch size of networks, netSteps how long they are trained.
func (d *draft) netBatch() int {
	if d.trainRows() < 3000 {
		return 32
	}
	return 256
}

func (d *draft) netEpochs() int { return max(min(1_000_000/d.trainRows(), 60), 3) }

func (d *draft) netSteps() int { return max(d.netEpochs()*d.trainRows()/d.netBatch(), 50) }
