package status

import (
	"bytes"
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/calls"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"bytes": size, "seconds": seconds, "add": add}).Parse(pageText))

// MetricsPath is the path of the metrics, the same as in model servers.
const MetricsPath = "/monitoring/prometheus/metrics"

// maxRows is the most variables, sessions and queues that the page and its JSON show.
const maxRows = 1000

// Page shows a task. It is safe for concurrent use.
type Page struct {
	now     func() State
	rate    rate
	metrics metrics
	mux     *http.ServeMux
}

// New returns a page that shows the result of now.
func New(now func() State) *Page {
	p := &Page{now: now, mux: http.NewServeMux()}
	p.metrics = newMetrics(now)
	p.mux.HandleFunc("GET /{$}", p.html)
	p.mux.HandleFunc("GET /status.json", p.json)
	p.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	p.mux.Handle("GET "+MetricsPath, promhttp.HandlerFor(p.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4}))
	return p
}

// stepping are the methods that run steps.
var stepping = map[string]bool{"RunStep": true, "RunCallable": true, "RunGraph": true}

// Ended counts a finished call, for [calls.Options].
func (p *Page) Ended(c calls.Call) {
	p.metrics.add(c)
	if stepping[c.Method] {
		p.rate.add(time.Now(), c.Took)
	}
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	p.mux.ServeHTTP(w, r)
}

// state is the state to show.
func (p *Page) state() State {
	s := p.now()
	running := s.Steps.Running
	s.Steps = p.rate.steps(time.Now())
	s.Steps.Running = running
	s.Sessions, s.Variables, s.Queues = first(s.Sessions), first(s.Variables), first(s.Queues)
	return s
}

// first are the first rows of a table.
func first[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows[:min(len(rows), maxRows)]
}

func (p *Page) html(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	if err := page.Execute(&text, p.state()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // the reader may have disconnected
}

func (p *Page) json(w http.ResponseWriter, _ *http.Request) {
	text, err := json.Marshal(p.state())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the reader may have disconnected
}

// size formats a number of bytes for people.
func size(of any) string {
	var n int64
	switch of := of.(type) {
	case int:
		n = int64(of)
	case int64:
		n = of
	}
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB"}
	i := 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// seconds formats a time for people.
func seconds(s float64) string {
	return (time.Duration(s*1000) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// add is the sum of the variables' bytes.
func add(all []Variable) (n int) {
	for _, v := range all {
		n += v.Bytes
	}
	return n
}
