package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page's files
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/goestimator/goestimator/internal/report/echarts"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/shadow"
)

//go:embed assets/page.html
var pageText string

//go:embed assets/page.css
var style string

//go:embed assets/app.js
var app string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Public are the paths that show nothing of the models: a server that asks for a token may leave them open. The page asks
// its reader for the token.
var Public = []string{"/", "/page/app.js", "/page/echarts.js", "/page/page.css"}

// Options of a Page.
type Options struct {
	Models  servable.Source
	Catalog servable.Catalog
	Meter   servable.Meter // what versions take; nil: nobody says
	About   servable.About
	Title   string // default "goestimator"
}

// Page is the web page and what it knows of the traffic. It is safe for concurrent use.
type Page struct {
	o        Options
	mux      *http.ServeMux
	traffic  traffic
	versions versions
}

var (
	_ inference.Observer = (*Page)(nil)
	_ shadow.Observer    = (*Page)(nil)
)

// New returns a Page; let it observe the inference services, and serve it at "/" and "/page/".
func New(o Options) (*Page, error) {
	if o.Title == "" {
		o.Title = "goestimator"
	}
	p := &Page{o: o, mux: http.NewServeMux()}
	drawings, err := drawings()
	if err != nil {
		return nil, err
	}
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, map[string]any{"Title": o.Title, "Charts": drawings}); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	p.mux.Handle("GET /{$}", static("text/html; charset=utf-8", html.String()))
	p.mux.Handle("GET /page/app.js", static("text/javascript; charset=utf-8", app))
	p.mux.Handle("GET /page/echarts.js", static("text/javascript; charset=utf-8", echarts.Script))
	p.mux.Handle("GET /page/page.css", static("text/css; charset=utf-8", style))
	p.mux.HandleFunc("GET /page/models.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.models()) })
	p.mux.HandleFunc("GET /page/server.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.server()) })
	p.mux.HandleFunc("GET /page/traffic.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.traffic.window()) })
	p.mux.HandleFunc("GET /page/signatures.json", p.signatures)
	return p, nil
}

// ServeHTTP implements http.Handler; other paths than the page's are not found.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	p.mux.ServeHTTP(w, r)
}

// Done implements inference.Observer.
func (p *Page) Done(c inference.Call) {
	p.traffic.add(c)
	p.versions.add(c)
}

// Shadowed implements shadow.Observer.
func (p *Page) Shadowed(r shadow.Result) { p.versions.addCopy(r) }

// static serves a text that does not change while the process lives.
func static(kind, text string) http.Handler {
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "no-cache")
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(text)) // the reader may have gone
	})
}

func send(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b) // the reader may have gone
}
