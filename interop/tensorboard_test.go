package interop_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/cmd/cli"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// summarized adds summaries of every kind to the small mlp.
func summarized(fn estimator.ModelFn) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, l models.Labels) (*estimator.Spec, error) {
		spec, err := fn.Model(mc, f, l)
		if err != nil {
			return nil, err
		}
		mc.Summarize(models.ScalarSummary, "mean_logit", ops.Mean(mc, spec.Predictions["logits"]))
		mc.Summarize(models.HistogramSummary, "logits", spec.Predictions["logits"])
		mc.Summarize(models.ImageSummary, "input", f.Only())
		return spec, nil
	})
}

// watcher records the expected content of the event file, and adds a text.
type watcher struct {
	hooks.Base
	logits string
	data   data
	steps  []int64
	seen   map[string]*tensor.Tensor
}

func (w *watcher) Begin(s hooks.Setup) error {
	for _, x := range s.(hooks.SummarySource).Summaries() {
		if x.Tag == "logits" {
			w.logits = x.Fetch
		}
	}
	if err := s.Fetch(w.logits); err != nil {
		return err
	}
	return s.Fetch("loss")
}

func (w *watcher) AfterCreateSession(_ context.Context, r hooks.Run) error {
	return r.(hooks.Summarizer).Events().Values(0, summary.Text("note", "trained by *Go*"))
}

func (w *watcher) AfterRun(_ context.Context, r hooks.Run) error {
	for key, name := range map[string]string{"loss": "loss", "histogram": w.logits} {
		v, err := r.Value(name)
		if err != nil {
			return err
		}
		w.seen[fmt.Sprintf("%s/%d", key, r.GlobalStep())] = v.Clone()
	}
	w.seen[fmt.Sprintf("image/%d", r.GlobalStep())] = w.data.images.Row(32 * len(w.steps))
	w.steps = append(w.steps, r.GlobalStep())
	return nil
}

// recordRun trains with summaries in every step and returns the folder and the expected values.
func recordRun(t *testing.T) (dir string, want map[string]*tensor.Tensor) {
	t.Helper()
	d := glyphs(t, 160)
	j := small("adam", filepath.Join(t.TempDir(), "run"))
	j.summaries = 1
	w := &watcher{data: d, seen: map[string]*tensor.Tensor{}}
	e := j.estimatorOf(t, summarized(j.modelFn(t)))
	if _, err := e.Train(t.Context(), d.batches(32), estimator.WithHooks(w)); err != nil {
		t.Fatal(err)
	}
	steps, err := tensor.FromSlice(w.steps, len(w.steps))
	if err != nil {
		t.Fatal(err)
	}
	w.seen["steps"] = steps
	return j.dir, w.seen
}

// TensorBoard's event reader finds our values.
func TestTensorBoardReadsEvents(t *testing.T) {
	py := peers(t)
	dir, want := recordRun(t)
	py.run(t, "read_events.py", dir, save(t, filepath.Join(t.TempDir(), "want"), want))
}

// TensorBoard's server lists our tags, and its page in Chromium shows them.
func TestTensorBoardShowsRuns(t *testing.T) {
	peers(t)
	dir, _ := recordRun(t)
	url := serveTensorBoard(t, dir)
	for plugin, tag := range map[string]string{"scalars": "mean_logit", "histograms": "logits", "images": "input/image", "text": "note"} {
		await(t, url+"data/plugin/"+plugin+"/tags", func(b []byte) bool { return strings.Contains(string(b), `"`+tag+`"`) })
	}
	await(t, url+"data/plugin/scalars/scalars?run=.&tag=loss", func(b []byte) bool {
		return strings.Count(string(b), "[") == 6 // five points in a list
	})
	await(t, url+"data/plugin/graphs/graph?run=.&conceptual=false", func(b []byte) bool { return strings.Contains(string(b), `"dense/MatMul"`) })
	page := browse(t, url)
	for _, tag := range []string{"loss", "learning_rate", "mean_logit", "logits", "input/image"} {
		if shown := regexp.MustCompile(`[">]\s*` + tag + `\s*["<]`); !shown.MatchString(page) {
			t.Errorf("the page does not show %s", tag)
		}
	}
}

// TensorBoard's projector lists the model's tables, the words of their rows, and the vectors.
func TestTensorBoardProjects(t *testing.T) {
	peers(t)
	dir := t.TempDir()
	config, rows := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "rows.csv")
	write(t, rows, []byte("town,y\nOslo,1\nRome,2\nRome,3\n"))
	write(t, config, []byte(`model_dir: `+filepath.Join(dir, "runs", "one")+`
feature_columns:
  - {name: town, type: vocabulary, key: town, adapt: true, size: 10, oov_buckets: 1}
  - {name: town vector, type: embedding, of: town, dimension: 3}
model: {name: dnn_regressor, params: {hidden_units: [2], feature_columns: ["town vector"]}}
run: {projector: true, save_summary_steps: 1}
train: {input: {format: csv, files: `+rows+`, header: true, columns: [{name: town, dtype: string}, {name: y, role: label}]}, max_steps: 2}
`))
	var out, errs strings.Builder
	if code := cli.Run(t.Context(), []string{"train", "--config", config}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	const name = "dnn/input_from_feature_columns/input_layer/town_embedding/embedding_weights"
	url := serveTensorBoard(t, filepath.Join(dir, "runs")) + "data/plugin/projector/"
	await(t, url+"info?run=one", func(b []byte) bool {
		return strings.Contains(string(b), `"tensorName": "`+name+`"`) && strings.Contains(strings.Join(strings.Fields(string(b)), ""), `"tensorShape":[3,3]`)
	})
	await(t, url+"metadata?run=one&name="+name, func(b []byte) bool { return string(b) == "Rome\nOslo\nout of vocabulary 0\n" })
	await(t, url+"tensor?run=one&name="+name, func(b []byte) bool { return len(b) == 3*3*4 })
}

var address = regexp.MustCompile(`http://\S+:\d+/`)

// serveTensorBoard starts a server on a free loopback port and returns its address.
func serveTensorBoard(t *testing.T, dir string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), scriptTime)
	cmd := exec.CommandContext(ctx, venv("tensorboard"), "--logdir", dir, "--host", "127.0.0.1", "--port", "0", "--load_fast", "false")
	cmd.Env = append(os.Environ(), "TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	var output strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		output.WriteString(lines.Text() + "\n")
		if url := address.FindString(lines.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return url
		}
	}
	t.Fatalf("tensorboard ended:\n%s", output.String())
	return ""
}

// await repeats a request until the response is good: TensorBoard loads runs in the background.
func await(t *testing.T, url string, good func(body []byte) bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), scriptTime)
	defer stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		body, err := get(ctx, url)
		if err == nil && good(body) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v\n%s", url, err, body)
		case <-again.C:
		}
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := direct.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// browse opens the page in headless Chromium and returns its document once the scripts are done.
func browse(t *testing.T, url string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: chromium is not installed")
	}
	ctx, stop := context.WithTimeout(t.Context(), scriptTime)
	defer stop()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + testkit.Scratch(t), "--window-size=1400,1600", "--virtual-time-budget=30000"}
	if shot := os.Getenv("GOESTIMATOR_SCREENSHOT"); shot != "" {
		more := append(args[:len(args):len(args)], "--screenshot="+shot, url+"#timeseries")
		if out, err := exec.CommandContext(ctx, chromium, more...).CombinedOutput(); err != nil {
			t.Fatalf("chromium: %v\n%s", err, tail(string(out), 2000))
		}
	}
	out, err := exec.CommandContext(ctx, chromium, append(args, "--dump-dom", url+"#timeseries")...).Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}
