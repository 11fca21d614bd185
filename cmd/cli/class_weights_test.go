package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/runconfig"
)

// textFile writes text to a new file.
func textFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// weighed are the weights of the classes of a config's text after weighClasses.
func weighed(t *testing.T, text string, from columnSource, cluster string) (any, error) {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Path: textFile(t, "config.yaml", text), Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	rc, err := runconfig.FromTFConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	err = appOf(t).weighClasses(t.Context(), cfg, rc, from)
	return cfg.Model.Params[paramWeights], err
}

// TestBalancedClasses: balanced becomes numbers, computed from the training rows, for a model that is trained. It is refused in a cluster,
// and for labels that are not classes.
func TestBalancedClasses(t *testing.T) {
	table := textFile(t, "t.csv", "a,y\n"+strings.Repeat("1,no\n", 12)+strings.Repeat("2,yes\n", 4))
	numbers := textFile(t, "n.csv", "a,y\n"+strings.Repeat("1,0\n", 12)+strings.Repeat("2,2\n", 4))
	of := func(file, label, params, more string) string {
		return fmt.Sprintf("model: {name: dnn_classifier, params: {class_weights: balanced%s}}\ntrain: {input: {format: csv, header: true, files: %q, columns: [{name: a}, %s]%s}}\n", params, file, label, more)
	}
	ids, words := "{name: y, role: label, vocabulary: [no, yes]}", "{name: y, role: label, dtype: string}"
	trains := columnSource{trains: true}
	for _, c := range []struct {
		name, text string
		from       columnSource
		cluster    string
		want       string
	}{
		{"ids of words", of(table, ids, "", ", batch_size: 3, repeat: true"), trains, "", "[0.6666666666666666 2] <nil>"},
		{"words", of(table, words, ", label_vocabulary: [yes, no]", ""), trains, "", "[2 0.6666666666666666] <nil>"},
		{"a class without rows", of(numbers, "{name: y, role: label}", ", n_classes: 3", ""), trains, "", "[0.4444444444444444 1 1.3333333333333333] <nil>"},
		{"a part of the rows", of(table, ids, "", ", split: {folds: 4, held_out: 0, part: train}, take: 10"), trains, "", "[0.5555555555555556 5] <nil>"},
		{"a dry run", of(table, ids, "", ""), columnSource{trains: true, rows: 13}, "", "[0.5416666666666666 6.5] <nil>"},
		{"a model that is not trained", of("none.csv", ids, "", ""), columnSource{}, "", "<nil> <nil>"},
		{"numbers", strings.Replace(of("none.csv", ids, "", ""), "balanced", "[1, 2]", 1), trains, "", "[1 2] <nil>"},
		{"more classes than said", of(numbers, "{name: y, role: label}", "", ""), trains, "", `label "y" is "2": expected one of 2 classes`},
		{"other words", of(table, words, ", label_vocabulary: [yes, maybe]", ""), trains, "", `label "y" is "no"`},
		{"no label", of(table, "{name: y}", "", ""), trains, "", "needs one column of role label"},
		{"a cluster", of(table, ids, "", ""), trains, `{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}}`, "balanced is for one task"},
	} {
		t.Run(c.name, func(t *testing.T) {
			weights, err := weighed(t, c.text, c.from, c.cluster)
			if got := fmt.Sprint(weights, " ", err); !strings.Contains(got, c.want) {
				t.Errorf("got %s, expected %s", got, c.want)
			}
		})
	}
}
