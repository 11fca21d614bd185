package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInputsOfInputs: inputs within inputs are checked, completed, resolved and written as any other.
func TestInputsOfInputs(t *testing.T) {
	const text = `
model: {name: mlp}
data_dir: /data
train:
  max_steps: 1
  input:
    mix:
      - {format: csv, files: [a.csv], columns: [{name: x}, {name: Y, role: label, vocabulary: [b, c]}]}
      - concat:
          - {format: csv, files: [b.csv], columns: [{name: x}, {name: Y, role: label, vocabulary: [b, c]}], transforms: [{kind: snapshot, dir: s}]}
    weights: [3, 1]
    transforms: [{kind: window, size: 24, shift: 1, labels: last}]
    buckets: {column: x, boundaries: [2], batch_sizes: [4, 2]}
`
	cfg := mustLoad(t, text, nil, nil)
	in := cfg.Resolve(cfg.Train.Input)
	if in.Format != "mix" || in.Mix[1].Format != "concat" || in.Mix[1].Concat[0].Delimiter != "," || in.Mix[0].Columns[1].Kind != "categorical" {
		t.Errorf("not completed: %+v", in)
	}
	if got := in.Mix[0].Files[0] + in.Mix[1].Concat[0].Files[0] + in.Mix[1].Concat[0].Transforms[0].Dir; got != "/data/a.csv/data/b.csv/data/s" {
		t.Errorf("not resolved: %s", got)
	}
	if cfg.Train.Input.Mix[0].Files[0] != "a.csv" {
		t.Error("resolving changed the config")
	}
	out, err := cfg.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(cfg, mustLoad(t, string(out), nil, nil), sameConfig); d != "" {
		t.Errorf("written and loaded again: %s", d)
	}
	for change, want := range map[string]string{
		"a.csv]": `train.input.mix[0].fils`, "size: 24": "train.input.transforms[0].siz", "weights: [3, 1]": "train.input.weights",
	} {
		bad := strings.Replace(text, change, map[string]string{"a.csv]": "a.csv], fils: 3", "size: 24": "siz: 24", "weights: [3, 1]": "weights: [3]"}[change], 1)
		if _, err := loadText(bad, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %s", change, err, want)
		}
	}
}

// TestInputDatabase: an SQLite file is one of the input files, other names of databases are not.
func TestInputDatabase(t *testing.T) {
	for _, c := range [][3]string{
		{"sqlite", "houses.db", "/data/houses.db"}, {"sqlite", "/tmp/houses.db", "/tmp/houses.db"}, {"sqlite", "file:houses.db", "file:houses.db"}, {"sqlite", ":memory:", ":memory:"},
		{"sqlite", ":houses", "/data/:houses"}, {"pgx", "houses", "houses"},
	} {
		cfg := mustLoad(t, "model: {name: mlp}\ndata_dir: /data\ntrain: {max_steps: 1, input: {format: sql, sql: {driver: "+c[0]+", source: '"+c[1]+"', query: SELECT 1}, columns: [{name: x}]}}\n", nil, nil)
		if got := cfg.Resolve(cfg.Train.Input).SQL.Source; got != c[2] {
			t.Errorf("%s: got %s, expected %s", c[1], got, c[2])
		}
	}
}
