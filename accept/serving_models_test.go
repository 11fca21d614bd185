package accept

import (
	"bufio"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/testkit"
)

// preset is a config that is trained for a few steps, exported and served.
type preset struct {
	name, config string
	sets         []string
	file         func(t *testing.T, rows int) string // examples
	scores       string                              // prediction returned by classify ("" none) or regress requests
	values       string
}

// presets returns the configs of canned models on real data, and a recurrent one.
func presets(t *testing.T) []preset {
	msweb := t.TempDir()
	return []preset{
		{name: "adult", config: "configs/adult_wide_deep.yaml", sets: []string{"data_dir=" + testkit.Shared(t, "data/adult"), "train.max_steps=40"},
			file: head("data/adult/adult.test.gz", false), scores: "probabilities", values: "logistic"},
		{name: "titanic", config: "configs/titanic_boosted_trees.yaml", sets: []string{"data_dir=" + testkit.Shared(t, "data/titanic"), "model.params.n_trees=8"},
			file: head("data/titanic/titanic3.csv", true), scores: "probabilities", values: "logistic"},
		{name: "california", config: "configs/california_dnn.yaml", sets: []string{"data_dir=" + testkit.Shared(t, "data/california-housing"), "train.max_steps=40"},
			file: head("data/california-housing/cal_housing.data.gz", false), values: "predictions"},
		{name: "msweb", config: "configs/msweb_embedding.yaml", sets: []string{"data_dir=" + msweb, "train.max_steps=40"},
			file: visits(msweb), scores: "probabilities"},
		{name: "rnn", config: "accept/testdata/rnn.yaml", sets: []string{"train.max_steps=20", "data_dir=" + filepath.Join(testkit.Root(), "accept/testdata")},
			file: func(*testing.T, int) string { return filepath.Join(testkit.Root(), "accept/testdata/rnn.jsonl") }, scores: "probabilities"},
	}
}

// head makes a file with the first rows of one of the data sets.
func head(name string, header bool) func(*testing.T, int) string {
	return func(t *testing.T, rows int) string {
		f, err := os.Open(testkit.Shared(t, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(name, ".gz") {
			if r, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		if header {
			rows++
		}
		var out strings.Builder
		for lines := bufio.NewScanner(r); rows > 0 && lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "|") {
				out.WriteString(lines.Text() + "\n")
				rows--
			}
		}
		return written(t, filepath.Join(t.TempDir(), "rows.csv"), out.String())
	}
}

func written(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// visits makes the examples of msweb in dir, as its config describes.
func visits(dir string) func(*testing.T, int) string {
	return func(t *testing.T, rows int) string {
		data := testkit.Shared(t, "data/msweb")
		for _, name := range []string{"awk", "zcat"} {
			if _, err := exec.LookPath(name); err != nil {
				t.Skipf("skipped: %v", err)
			}
		}
		for part, one := range map[string]string{"data": "0", "test": "1"} {
			to := filepath.Join(dir, "msweb."+strings.Replace(part, "data", "train", 1)+".jsonl")
			cmd := exec.Command("sh", "-c", fmt.Sprintf("zcat %s/anonymous-msweb.%s.gz | awk -v one=%s -f configs/msweb.awk | head -n 3000 > %s", data, part, one, to))
			cmd.Dir = testkit.Root()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		b, err := os.ReadFile(filepath.Join(dir, "msweb.test.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(b), "\n")
		return written(t, filepath.Join(dir, "rows.jsonl"), strings.Join(lines[:min(rows, len(lines))], ""))
	}
}

// decimal is a number that always has a decimal point in JSON.
type decimal float32

// MarshalJSON appends ".0" to whole numbers.
func (d decimal) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(d), 'f', -1, 32)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return []byte(s), nil
}

// features reads a file of examples by the config's columns: each value is a decimal, an int64, a string or a list of int64.
func features(t *testing.T, cfg *config.Config, file string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := cfg.Eval.Input
	var cells []map[string]any
	if in.Format == "jsonl" {
		for line := range strings.Lines(string(b)) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			cells = append(cells, row)
		}
	} else {
		r := csv.NewReader(strings.NewReader(string(b)))
		r.TrimLeadingSpace = true
		all, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, len(in.Columns))
		for i, c := range in.Columns {
			names[i] = c.Name
		}
		if in.Header {
			names, all = all[0], all[1:]
		}
		for _, line := range all {
			row := map[string]any{}
			for i, cell := range line {
				row[names[i]] = cell
			}
			cells = append(cells, row)
		}
	}
	var rows []map[string]any
	for _, row := range cells {
		out := map[string]any{}
		for _, c := range in.Columns {
			if c.Role == "" || c.Role == "feature" {
				out[c.Name] = cell(t, c, row[c.Name])
			}
		}
		rows = append(rows, out)
	}
	return rows
}

// cell returns one feature of a row.
func cell(t *testing.T, c inputs.ColumnSpec, v any) any {
	t.Helper()
	if v == "" && c.Default != nil {
		v = fmt.Sprint(c.Default)
	}
	switch v := v.(type) {
	case []any:
		list := make([]int64, len(v))
		for i, x := range v {
			list[i] = int64(x.(float64))
		}
		return list
	case float64:
		return decimal(v)
	case string:
		if c.DType == "string" {
			return v
		}
		f, err := strconv.ParseFloat(v, 32)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		return decimal(f)
	}
	t.Fatalf("column %s: %v", c.Name, v)
	return nil
}

// serialized returns a row as a tf.Example.
func serialized(t *testing.T, row map[string]any) []byte {
	t.Helper()
	type pb = example_protos_go_proto.Feature
	all := map[string]*pb{}
	for name, v := range row {
		switch v := v.(type) {
		case decimal:
			all[name] = &pb{Kind: &example_protos_go_proto.Feature_FloatList{FloatList: &example_protos_go_proto.FloatList{Value: []float32{float32(v)}}}}
		case []int64:
			all[name] = &pb{Kind: &example_protos_go_proto.Feature_Int64List{Int64List: &example_protos_go_proto.Int64List{Value: v}}}
		case string:
			all[name] = &pb{Kind: &example_protos_go_proto.Feature_BytesList{BytesList: &example_protos_go_proto.BytesList{Value: [][]byte{[]byte(v)}}}}
		}
	}
	b, err := proto.Marshal(&example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: all}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestServedPresets trains each config for a few steps, exports it with either input and serves all of them: the
// answers to predict (rows and columns), classify and regress must equal those of `predict`.
func TestServedPresets(t *testing.T) {
	rows := 30
	if thorough(t) {
		rows = 1000
	}
	root := t.TempDir()
	type made struct {
		preset
		rows []map[string]any
		want []map[string]any
	}
	var all []made
	for _, p := range presets(t) {
		file := p.file(t, rows)
		args := []string{"--config", p.config, "--set", "model_dir=" + filepath.Join(t.TempDir(), p.name)}
		sets := append(p.sets, "eval.exporters=[]")
		for _, s := range sets {
			args = append(args, "--set", s)
		}
		train(t, args...)
		exportTo(t, filepath.Join(root, p.name), args...)
		exportTo(t, filepath.Join(root, p.name+"_raw"), append(args, "--set", "export.serving_input=raw", "--text")...)
		cfg, err := config.Load(config.LoadOptions{Path: filepath.Join(testkit.Root(), p.config), Sets: sets})
		if err != nil {
			t.Fatal(err)
		}
		m := made{p, features(t, cfg, file), predictions(t, file, args...)}
		if len(m.rows) != len(m.want) || len(m.rows) == 0 {
			t.Fatalf("%s: %d rows, %d predictions", p.name, len(m.rows), len(m.want))
		}
		all = append(all, m)
	}
	s := serve(t, "--model-root", root)
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			worst := 0.0
			compare := func(what string, got, want any) {
				t.Helper()
				d, err := difference(got, want)
				if err != nil || d > 1e-5 {
					t.Errorf("%s: differs by %g: %v", what, d, err)
				}
				worst = max(worst, d)
			}
			s.t = t
			examples, instances, columns := []any{}, []any{}, map[string][]any{}
			for _, row := range m.rows {
				examples = append(examples, map[string]any{"b64": base64.StdEncoding.EncodeToString(serialized(t, row))})
				instances = append(instances, row)
				for name, v := range row {
					columns[name] = append(columns[name], v)
				}
			}
			path := "/v1/models/" + m.name
			parsed := s.answer(path+":predict", map[string]any{"signature_name": "predict", "instances": examples}, "predictions").([]any)
			rowwise := s.answer(path+"_raw:predict", map[string]any{"instances": instances}, "predictions").([]any)
			columnwise := s.answer(path+"_raw:predict", map[string]any{"inputs": columns}, "outputs")
			for i, want := range m.want {
				for name, value := range want {
					compare(name+" of examples", value1(parsed[i], name), value)
					compare(name+" of rows", value1(rowwise[i], name), value)
					compare(name+" of columns", value1(columnwise, name).([]any)[i], value)
				}
			}
			if m.scores != "" {
				for i, row := range s.answer(path+":classify", map[string]any{"examples": instances}, "results").([]any) {
					var scores []any
					for _, pair := range row.([]any) {
						scores = append(scores, pair.([]any)[1])
					}
					compare("scores", scores, m.want[i][m.scores])
				}
			}
			if m.values != "" {
				for i, v := range s.answer(path+":regress", map[string]any{"signature_name": regression(m.scores), "examples": instances}, "results").([]any) {
					compare("regression", []any{v}, m.want[i][m.values])
				}
			}
			t.Logf("%d rows, largest difference %.3g", len(m.rows), worst)
		})
	}
	s.t = t
	if code := s.end(15); code != 0 {
		t.Errorf("exit code %d after SIGTERM, expected 0", code)
	}
}

// regression returns the name of the regression signature.
func regression(scores string) string {
	if scores == "" {
		return "serving_default"
	}
	return "regression"
}

// value1 returns an output by name; a single output is not in a map.
func value1(outputs any, name string) any {
	if m, ok := outputs.(map[string]any); ok {
		return m[name]
	}
	return outputs
}
