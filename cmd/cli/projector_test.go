package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// projectedConfig has tables of three kinds: a vocabulary adapted to data, a vocabulary with a blank word and buckets, and a hashed column.
const projectedConfig = `
model_dir: run
seed: 7
feature_columns:
  - {name: town, type: vocabulary, key: town, adapt: true, size: 10, oov_buckets: 1}
  - {name: town vector, type: embedding, of: town, dimension: 2}
  - {name: size, type: vocabulary, key: size, vocabulary: [small, " ", "l\targe"]}
  - {name: size vector, type: embedding, of: size, dimension: 3}
  - {name: code, type: hash_bucket, key: code, buckets: 4}
  - {name: code vector, type: embedding, of: code, dimension: 2}
model: {name: dnn_regressor, params: {hidden_units: [2], feature_columns: ["town vector", "size vector", "code vector"]}}
run: {log_step_count_steps: 0, save_summary_steps: 0, projector: true}
train:
  input:
    format: csv
    files: rows.csv
    header: true
    columns: [{name: town, dtype: string}, {name: size, dtype: string}, {name: code, dtype: string}, {name: y, role: label}]
    batch_size: 4
    repeat: true
  max_steps: 3
`

// TestProjector: the last checkpoint's tables are written, with words for rows that have some.
func TestProjector(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"c.yaml": projectedConfig, "rows.csv": "town,size,code,y\nOslo,small,a,1\nRome,small,b,2\nRome,small,c,3\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	train := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), append([]string{"train", "--config", "c.yaml"}, args...), &out, &errs); code != 0 {
			t.Fatalf("code %d, %s", code, errs.String())
		}
		return errs.String()
	}
	train()
	const scope = "dnn_input_from_feature_columns_input_layer_"
	files := folderFiles(t, "run/projector")
	if len(files) != 5 {
		t.Errorf("%d files", len(files))
	}
	for name, want := range map[string]string{"01_" + scope + "size_embedding_embedding_weights": "small\n\" \"\nl\\targe\n", "02_" + scope + "town_embedding_embedding_weights": "Rome\nOslo\nout of vocabulary 0\n"} {
		if files[name+"_words.tsv"] != want {
			t.Errorf("%s: words %q", name, files[name+"_words.tsv"])
		}
		if rows := strings.Count(files[name+".tsv"], "\n"); rows != 3 {
			t.Errorf("%s: %d rows", name, rows)
		}
	}
	if vectors := files["00_"+scope+"code_embedding_embedding_weights.tsv"]; strings.Count(vectors, "\n") != 4 || strings.Count(vectors, "\t") != 4 {
		t.Errorf("vectors %q", vectors)
	}
	config := folderFiles(t, "run")["projector_config.pbtxt"]
	if strings.Count(config, "embeddings {") != 3 || strings.Count(config, "metadata_path: ") != 2 || !strings.Contains(config, `tensor_path: "projector/00_`+scope+"code_") {
		t.Errorf("config\n%s", config)
	}
	before := files["00_"+scope+"code_embedding_embedding_weights.tsv"]
	train("--set", "train.max_steps=9")
	if after := folderFiles(t, "run/projector")["00_"+scope+"code_embedding_embedding_weights.tsv"]; after == before {
		t.Error("a longer training left the vectors as they were")
	}
	plain := strings.Replace(projectedConfig, `dnn_regressor, params: {hidden_units: [2], feature_columns: ["town vector", "size vector", "code vector"]}`, "linear_regressor, params: {feature_columns: [town]}", 1)
	if err := os.WriteFile("c.yaml", []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := train("--set", "model_dir=other"); !strings.Contains(said, "no embedding table") {
		t.Errorf("a model without tables: %s", said)
	}
}

// folderFiles are the files of a folder: names and contents.
func folderFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}
