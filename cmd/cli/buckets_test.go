//go:build !nobuckets

package cli

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit/s3server"
)

const bucketConfig = `
model_dir: run
data_dir: s3://cli-data/iris?use_path_style=true
model: {name: mlp, params: {classes: 2, hidden_units: [2]}}
train:
  input: {format: csv, files: "train-*.csv", header: true, columns: [{name: a}, {name: y, dtype: int64, role: label}], batch_size: 4, repeat: true}
  max_steps: 3
eval: {input: {format: csv, files: train-0.csv, header: true, columns: [{name: a}, {name: y, dtype: int64, role: label}]}}
`

// Training reads a folder of a bucket, and each object that --input matches gets a file of predictions.
func TestBuckets(t *testing.T) {
	web := s3server.New(t, "cli-data")
	for i := range 2 {
		web.Put(fmt.Sprintf("iris/train-%d.csv", i), "a,y\n1,0\n2,1\n3,0\n")
		web.Put(fmt.Sprintf("new/part %d.csv", i), fmt.Sprintf("a,y\n%d,0\n", i))
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("c.yaml", []byte(bucketConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Run(context.Background(), append(args, "--config", "c.yaml"), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := run("train"); code != 0 {
		t.Fatalf("train: %s", text)
	}
	if web.Reads("iris/train-0.csv") == 0 || web.Reads("iris/train-1.csv") == 0 {
		t.Error("an object was not read")
	}
	if code, text := run("predict", "--input", "s3://cli-data/new/*.csv?use_path_style=true", "--output", "out/*.csv"); code != 0 {
		t.Fatalf("predict: %s", text)
	}
	for i := range 2 {
		text, err := os.ReadFile(fmt.Sprintf("out/part %d.csv", i))
		if err != nil || strings.Count(string(text), "\n") != 2 {
			t.Errorf("%q, %v", text, err)
		}
	}
	code, text := run("predict", "--input", "s3://cli-data/none.csv?use_path_style=true")
	if code == 0 || !strings.Contains(text, "the bucket has no such object: check the name") {
		t.Errorf("code %d: %s", code, text)
	}
}

// TestPredictToBucket: a folder of objects is predicted into a bucket; the same command resumes after an interruption, and a bucket
// that cannot be written is reported before and after predicting.
func TestPredictToBucket(t *testing.T) {
	web := s3server.New(t, "cli-written")
	for i := range 2 {
		web.Put(fmt.Sprintf("iris/train-%d.csv", i), "a,y\n1,0\n2,1\n3,0\n")
		web.Put(fmt.Sprintf("new/day=%d/part 1.csv", i), fmt.Sprintf("a,y\n%d,0\n", i))
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("c.yaml", []byte(strings.ReplaceAll(bucketConfig, "cli-data", "cli-written")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Run(context.Background(), append(args, "--config", "c.yaml"), &out, &errs)
		return code, out.String() + errs.String()
	}
	predict := func(input, output string) (int, string) {
		return run("predict", "--input", "s3://cli-written/"+input+"?use_path_style=true", "--output", "s3://"+output+"?use_path_style=true")
	}
	if code, text := run("train"); code != 0 {
		t.Fatalf("train: %s", text)
	}
	if code, text := predict("new", "cli-written/my out/*.csv"); code != 0 || !strings.Contains(text, "predictions=2") {
		t.Fatalf("code %d: %s", code, text)
	}
	first := web.Content("my out/day=0/part 1.csv")
	if strings.Count(first, "\n") != 2 || strings.Count(web.Content("my out/day=1/part 1.csv"), "\n") != 2 {
		t.Errorf("got %q", first)
	}
	web.Remove("my out/day=0")
	if code, text := predict("new/**/*.csv", "cli-written/my out/*.csv"); code != 0 || !strings.Contains(text, "predictions=1") || !strings.Contains(text, "files=1") {
		t.Errorf("going on: code %d: %s", code, text)
	}
	if got := web.Content("my out/day=0/part 1.csv"); got != first {
		t.Errorf("got %q, expected %q", got, first)
	}
	if code, text := predict("new", "cli-written/all.parquet"); code != 0 || !strings.HasPrefix(web.Content("all.parquet"), "PAR1") {
		t.Errorf("one object: code %d: %s", code, text)
	}
	for output, want := range map[string]string{
		"other/out.csv":            "the bucket does not exist",
		"other/*.csv":              "the bucket does not exist",
		"cli-written/new/*.csv":    "is a file of examples: write to another folder or name",
		"cli-written/out.xlsx":     "expected the extension .arrow, .csv, .json, .jsonl, .parquet",
		"cli-written/*/out.csv":    "expected one star, in the name of the file",
		"cli-written":              "expected the extension",
		"me:you@cli-written/x.csv": "expected s3://BUCKET/PATH",
	} {
		if code, text := predict("new", output); code != exitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: code %d: %s", output, code, text)
		}
	}
	web.Answer = func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPut
	}
	t.Setenv("TMPDIR", t.TempDir())
	code, text := predict("new", "cli-written/forbidden.csv")
	if code != 1 || !strings.Contains(text, "no permission: check the credentials") {
		t.Errorf("code %d: %s", code, text)
	}
	_, local, _ := strings.Cut(strings.TrimSpace(text), "the predictions are kept in ")
	if kept, err := os.ReadFile(local); err != nil || bytes.Count(kept, []byte("\n")) != 3 {
		t.Errorf("kept %q, %v: %s", kept, err, text)
	}
}

// TestBucketOfImages: a folder of images in a bucket trains a model that knows the class names, and predictions name the files.
func TestBucketOfImages(t *testing.T) {
	web := s3server.New(t, "cli-images")
	for i := range 4 {
		var im bytes.Buffer
		if err := png.Encode(&im, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
			t.Fatal(err)
		}
		web.Put(fmt.Sprintf("pets/%s/%d.png", []string{"cat", "dog"}[i%2], i), im.String())
		web.Put(fmt.Sprintf("new/%d.png", i), im.String())
	}
	t.Chdir(t.TempDir())
	config := `
model_dir: run
data_dir: s3://cli-images?use_path_style=true
model: {name: mlp, params: {classes: 2, hidden_units: [2]}}
train: {input: {format: images, files: pets, channels: 1, batch_size: 4, repeat: true}, max_steps: 2}
eval: {input: {format: images, files: pets, channels: 1}}
predict: {columns: [file]}
`
	if err := os.WriteFile("c.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"train"}, {"predict", "--input", "s3://cli-images/new?use_path_style=true", "--output", "out.csv", "--set", "predict.keys=all_classes"}} {
		var out, errs bytes.Buffer
		if code := Run(context.Background(), append(args, "--config", "c.yaml"), &out, &errs); code != 0 {
			t.Fatalf("%s: %s", args[0], errs.String())
		}
	}
	text, err := os.ReadFile("out.csv")
	if want := "file,all_classes_0,all_classes_1\n0.png,cat,dog\n1.png,cat,dog\n2.png,cat,dog\n3.png,cat,dog\n"; err != nil || string(text) != want {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestInitOfObject: init looks at an object, and its config reads the object.
func TestInitOfObject(t *testing.T) {
	web := s3server.New(t, "cli-init")
	var b strings.Builder
	b.WriteString("a,y\n")
	for r := range 40 {
		fmt.Fprintf(&b, "%d,%s\n", r*7%30, []string{"low", "high"}[r*7%30/15])
	}
	web.Put("tables/t.csv", b.String())
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"init", "s3://cli-init/tables/t.csv?use_path_style=true", "--label", "y", "--no-search"},
		{"data", "describe", "s3://cli-init/tables/t.csv?use_path_style=true", "--label", "y"},
		{"train", "--config", "config.yaml", "--set", "model.params.n_trees=2"},
	} {
		var out, errs bytes.Buffer
		if code := Run(context.Background(), args, &out, &errs); code != 0 {
			t.Fatalf("%s: %s", args[0], errs.String())
		}
	}
	if _, err := os.Stat("runs/t/export/final"); err != nil {
		t.Error(err)
	}
}
