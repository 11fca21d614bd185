package page_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/page"
	"github.com/goestimator/goestimator/internal/serving/rest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
)

// user does what a person does on the page: waits for the models, writes a request and sends it.
const user = `setInterval(() => {
  const at = id => document.getElementById(id);
  if (!at('signature').options.length || at('answer').textContent || at('send').disabled) return;
  at('send').disabled = true;
  at('body').value = JSON.stringify({ instances: [5, 6, 70] });
  at('form').requestSubmit();
}, 100);`

// In a browser the page shows models, traffic, and the answer to a request; its policy blocks none of it.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: chromium is not installed")
	}
	src := modeltest.Source()
	src.Set(servable.ID{Name: `z<i>z</i>`, Version: 1}, modeltest.New())
	p, err := page.New(page.Options{Models: src, Catalog: src})
	if err != nil {
		t.Fatal(err)
	}
	service := &inference.Service{Models: src, Observers: []inference.Observer{p}, Entrypoint: "REST"}
	mux := http.NewServeMux()
	mux.Handle("/page/", p)
	mux.Handle("/v1/", rest.New(rest.Options{Service: service, Catalog: src}))
	mux.HandleFunc("/user.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, user)
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, r)
		w.Header().Set("Content-Security-Policy", rec.Header().Get("Content-Security-Policy"))
		_, _ = io.WriteString(w, strings.Replace(rec.Body.String(), "</body>", `<script src="user.js"></script></body>`, 1))
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir=" + testkit.Scratch(t), "--window-size=1200,1300", "--virtual-time-budget=6000", "--enable-logging=stderr"}
	if shot := os.Getenv("GOESTIMATOR_SCREENSHOT"); shot != "" {
		args = append(args, "--screenshot="+filepath.Clean(shot))
	}
	var log strings.Builder
	cmd := exec.CommandContext(ctx, chromium, append(args, "--dump-dom", srv.URL)...)
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, log.String())
	}
	dom := string(out)
	for _, want := range []string{
		`<td>m</td><td>2</td><td class="AVAILABLE">AVAILABLE</td>`, `<option value="serving_default">`, "predict: x: float32 [?] \u2192 y: float32 [?]",
		`"predictions": [4.5, 5.0, 37.0`, "200 in ", "<canvas", "<td>z&lt;i&gt;z&lt;/i&gt;</td>",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(dom, "<i>") {
		t.Error("a model's name is HTML of the page")
	}
	for _, bad := range []string{"Content Security Policy", "Uncaught"} {
		if strings.Contains(log.String(), bad) {
			t.Errorf("the browser says %s:\n%s", bad, log.String())
		}
	}
	if t.Failed() {
		t.Log(dom)
	}
}
