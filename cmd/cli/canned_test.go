package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// TestCannedConfigs trains the configs of canned models on the real data and
// checks the metrics that they promise.
func TestCannedConfigs(t *testing.T) {
	long := os.Getenv("GOESTIMATOR_ACCEPT") == "1"
	for _, c := range []struct {
		name, config, data string
		sets               []string
		at                 map[string]float64 // the least value; where it is negative, the greatest is its absolute value
		short              bool
	}{
		{name: "linear", config: "adult_wide_deep", data: "adult", sets: []string{"model.params.dnn_feature_columns=[]"},
			at: map[string]float64{"accuracy": 0.845, "auc": 0.90}, short: true},
		{name: "wide and deep", config: "adult_wide_deep", data: "adult", at: map[string]float64{"accuracy": 0.850, "auc": 0.90}},
		{name: "deep and cross", config: "adult_dcn", data: "adult", at: map[string]float64{"accuracy": 0.850, "auc": 0.90}},
		{name: "california", config: "california_dnn", data: "california-housing", at: map[string]float64{"rmse": -54000}},
		{name: "msweb", config: "msweb_embedding", data: "msweb", at: map[string]float64{"accuracy": 0.40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !long && !c.short {
				t.Skip("skipped: takes long (GOESTIMATOR_ACCEPT=1)")
			}
			dir := testkit.Shared(t, "data/"+c.data)
			if c.data == "msweb" {
				dir = msweb(t, dir)
			}
			args := []string{"train", "--json", "--config", filepath.Join(testkit.Root(), "configs", c.config+".yaml"),
				"--set", "data_dir=" + dir, "--set", "model_dir=" + t.TempDir()}
			for _, s := range c.sets {
				args = append(args, "--set", s)
			}
			var out, log bytes.Buffer
			if code := Run(context.Background(), args, &out, &log); code != 0 {
				t.Fatalf("exit code %d\n%s", code, log.String())
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var result struct{ Metrics map[string]float64 }
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
				t.Fatal(err)
			}
			for name, bound := range c.at {
				got := result.Metrics[name]
				t.Logf("%s %v", name, got)
				if bound >= 0 && got < bound || bound < 0 && !(got > 0 && got <= -bound) {
					t.Errorf("%s is %v, expected a bound of %v", name, got, bound)
				}
			}
		})
	}
}

// msweb makes the examples of the data set with the script beside the config.
func msweb(t *testing.T, data string) string {
	t.Helper()
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("skipped: no awk")
	}
	dir := t.TempDir()
	script := filepath.Join(testkit.Root(), "configs", "msweb.awk")
	for _, command := range []string{
		"zcat " + data + "/anonymous-msweb.data.gz | awk -f " + script + " > msweb.train.jsonl",
		"zcat " + data + "/anonymous-msweb.test.gz | awk -v one=1 -f " + script + " > msweb.test.jsonl",
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	return dir
}
