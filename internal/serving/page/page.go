package page

import (
	"bytes"
	_ "embed" // for the page's files
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"

	"github.com/goestimator/goestimator/internal/report/echarts"
	"github.com/goestimator/goestimator/internal/report/webpage"
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

// Public are the paths that reveal nothing about the models, so a server that requires a token may leave them open. The
// page asks its reader for the token.
var Public = []string{"/", "/page/app.js", "/page/echarts.js", "/page/page.css"}

// Options of a Page.
type Options struct {
	Models  servable.Source
	Catalog servable.Catalog
	Meter   servable.Meter // measures versions; nil: no usage is shown
	About   servable.About
	Title   string // default "goestimator"
}

// Page is the web page and its record of the traffic. It is safe for concurrent use.
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

// New returns a Page. It must observe the inference services, and be served at "/" and "/page/".
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
	p.mux.Handle("GET /{$}", webpage.Static("text/html; charset=utf-8", html.String()))
	p.mux.Handle("GET /page/app.js", webpage.Static("text/javascript; charset=utf-8", app))
	p.mux.Handle("GET /page/echarts.js", webpage.Static("text/javascript; charset=utf-8", echarts.Script))
	p.mux.Handle("GET /page/page.css", webpage.Static("text/css; charset=utf-8", style))
	p.mux.HandleFunc("GET /page/models.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.models()) })
	p.mux.HandleFunc("GET /page/server.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.server()) })
	p.mux.HandleFunc("GET /page/traffic.json", func(w http.ResponseWriter, _ *http.Request) { send(w, p.traffic.window()) })
	p.mux.HandleFunc("GET /page/signatures.json", p.signatures)
	return p, nil
}

// ServeHTTP implements http.Handler. It answers 404 for paths that are not the page's.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webpage.Secure(w.Header())
	p.mux.ServeHTTP(w, r)
}

// Done implements inference.Observer.
func (p *Page) Done(c inference.Call) {
	p.traffic.add(c)
	p.versions.add(c)
}

// Shadowed implements shadow.Observer.
func (p *Page) Shadowed(r shadow.Result) { p.versions.addCopy(r) }

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
