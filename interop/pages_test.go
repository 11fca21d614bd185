package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
)

// shownConfig is a model of two numbers and a word.
const shownConfig = `model_dir: %[1]s/runs/one
seed: 7
feature_columns:
  - {name: a, type: numeric, key: a, normalize: {adapt: true}}
  - {name: town, type: vocabulary, key: town, adapt: true, size: 9, oov_buckets: 1}
  - {name: town one-hot, type: indicator, of: town}
model: {name: dnn_classifier, params: {hidden_units: [4], feature_columns: [a, town one-hot]}}
run: {log_step_count_steps: 5, save_checkpoints_steps: 10, save_summary_steps: 5, summary_histograms: true}
train:
  input: &input {format: csv, files: %[1]s/rows.csv, header: true, batch_size: 8, repeat: true, columns: [{name: a}, {name: town, dtype: string}, {name: y, role: label, vocabulary: ["no", "yes"]}]}
  max_steps: 30
eval: {input: {<<: *input, repeat: false}}
sweep:
  algorithm: grid
  parameters: [{key: train.input.batch_size, values: [4, 8]}]
`

// TestPagesOffline opens the pages of report, sweep, data describe and watch in Chromium: they show what they should, scripts
// do not fail, and nothing is requested from other servers.
func TestPagesOffline(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: chromium is not installed")
	}
	dir := t.TempDir()
	config, at := filepath.Join(dir, "c.yaml"), func(name string) string { return filepath.Join(dir, name) }
	rows := "a,town,y\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,%s,%s\n", i%11, []string{"Oslo", "Rome", "<b>Bonn</b>"}[i%3], []string{"no", "yes"}[i%11/6])
	}
	write(t, at("rows.csv"), []byte(rows))
	write(t, config, fmt.Appendf(nil, shownConfig, dir))
	goestimator(t, "train", "--config", config)
	goestimator(t, "report", "--config", config, "--out", at("report.html"))
	goestimator(t, "sweep", "--config", config, "--dir", at("sweep"), "--html", at("sweep.html"))
	goestimator(t, "data", "describe", at("rows.csv"), "--label", "y", "--format", "html", "--out", at("describe.html"))
	write(t, at("leaky.html"), []byte(`<p>leaky</p><img src="http://example.invalid/x.png"><script src="https://cdn.invalid/y.js"></script>`))
	watched := watchProxy(t, filepath.Join(dir, "runs"))
	for _, page := range []struct {
		name, url string
		canvases  int // at least
		texts     []string
		asks      int // requests to other servers
	}{
		{"report", "file://" + at("report.html"), 8, []string{"Where the time of training goes", "Worst predictions", "Importance of inputs", "&lt;b&gt;Bonn&lt;/b&gt;", "writing checkpoints"}, 0},
		{"sweep", "file://" + at("sweep.html"), 2, []string{"The best is trial", "train.input.batch_size"}, 0},
		{"describe", "file://" + at("describe.html"), 3, []string{"40 rows, 3 columns", "town"}, 0},
		{"watch", watched, 2, []string{"finished", ">30<"}, 0},
		{"a page that asks others", "file://" + at("leaky.html"), 0, []string{"leaky"}, 2},
	} {
		t.Run(page.name, func(t *testing.T) {
			dom, asked := openPage(t, chromium, page.url)
			if n := strings.Count(dom, "<canvas"); n < page.canvases {
				t.Errorf("%d charts, expected %d or more", n, page.canvases)
			}
			for _, text := range page.texts {
				if !strings.Contains(dom, text) {
					t.Errorf("the page does not show %q", text)
				}
			}
			if strings.Contains(dom, "<b>Bonn") {
				t.Error("a value of the data is HTML of the page")
			}
			var others []string
			for _, url := range asked {
				if page.name != "watch" || !strings.HasPrefix(url, watched) {
					others = append(others, url)
				}
			}
			if len(others) != page.asks {
				t.Errorf("the page asked for %q", others)
			}
			if t.Failed() {
				t.Log(tail(dom, 20000))
			}
		})
	}
}

// openPage opens a page in headless Chromium, and returns its document once its scripts are done, and the URLs that it requested,
// without the browser's own requests.
func openPage(t *testing.T, chromium, url string) (dom string, asked []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), scriptTime)
	defer stop()
	netLog := filepath.Join(t.TempDir(), "net.json")
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir=" + testkit.Scratch(t), "--window-size=1300,1600", "--virtual-time-budget=8000", "--enable-logging=stderr", "--log-net-log=" + netLog}
	if shot := os.Getenv("GOESTIMATOR_SCREENSHOT"); shot != "" {
		args = append(args, "--screenshot="+filepath.Join(filepath.Clean(shot), strings.ReplaceAll(t.Name(), "/", "_")+".png"))
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, chromium, append(args, "--dump-dom", url)...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, tail(said.String(), 4000))
	}
	for _, bad := range []string{"Content Security Policy", "Uncaught"} {
		if strings.Contains(said.String(), bad) {
			t.Errorf("the browser says %s:\n%s", bad, tail(said.String(), 4000))
		}
	}
	return string(out), askedFor(t, netLog)
}

// askedFor returns the URLs in a network log that a page requested.
func askedFor(t *testing.T, path string) (urls []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Events []struct {
			Params struct{ Initiator, URL string }
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatalf("the network log of chromium: %v", err)
	}
	for _, e := range log.Events {
		if p := e.Params; p.URL != "" && p.Initiator != "" && p.Initiator != "not an origin" {
			urls = append(urls, p.URL)
		}
	}
	if len(log.Events) == 0 {
		t.Fatal("the network log of chromium is empty")
	}
	return urls
}

// watchProxy starts watch for a folder with one run, and returns the address of a proxy that ends the stream of events once
// the run has arrived: the browser waits for the end of everything it loads.
func watchProxy(t *testing.T, runs string) string {
	t.Helper()
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, path, "watch", runs)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	page, ok := strings.CutPrefix(strings.TrimSpace(line), "page=")
	if err != nil || !ok {
		t.Fatalf("watch: %v, %q", err, line)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := forward(r.Context(), w, strings.TrimSuffix(page, "/")+r.URL.Path); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

// forward forwards the response of another server. A stream of events is cut after the first two: the names of the runs, and a run.
func forward(ctx context.Context, w http.ResponseWriter, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for _, name := range []string{"Content-Type", "Content-Security-Policy"} {
		w.Header().Set(name, res.Header.Get(name))
	}
	w.WriteHeader(res.StatusCode)
	if !strings.HasSuffix(url, "/events") {
		_, err = io.Copy(w, res.Body)
		return err
	}
	body := bufio.NewReader(res.Body)
	for events := 0; events < 2; {
		line, err := body.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		if line == "\n" {
			events++
		}
	}
	return nil
}
