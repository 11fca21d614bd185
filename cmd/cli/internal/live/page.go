package live

import (
	"bytes"
	"context"
	_ "embed" // for the page's files
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/report"
	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/report/echarts"
	"github.com/goestimator/goestimator/internal/report/webpage"
)

//go:embed assets/page.html
var pageText string

//go:embed assets/page.css
var style string

//go:embed assets/app.js
var app string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

const (
	mostReaders = 32               // at a time
	patience    = 10 * time.Second // for a reader to receive a message
	silence     = 15 * time.Second // between comments that detect a lost connection
)

// Page serves a Board.
type Page struct {
	board   *Board
	mux     *http.ServeMux
	readers atomic.Int64
}

// NewPage returns a page of a Board.
func NewPage(b *Board) (*Page, error) {
	options, err := report.EmptyChart()
	if err != nil {
		return nil, err
	}
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, map[string]any{"Chart": options}); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	p := &Page{board: b, mux: http.NewServeMux()}
	p.mux.Handle("GET /{$}", webpage.Static("text/html; charset=utf-8", html.String()))
	p.mux.Handle("GET /page/app.js", webpage.Static("text/javascript; charset=utf-8", app))
	p.mux.Handle("GET /page/echarts.js", webpage.Static("text/javascript; charset=utf-8", echarts.Script))
	p.mux.Handle("GET /page/page.css", webpage.Static("text/css; charset=utf-8", style))
	p.mux.HandleFunc("GET /events", p.events)
	return p, nil
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webpage.Secure(w.Header())
	p.mux.ServeHTTP(w, r)
}

// events sends the state of all runs and then changes, until the reader disconnects or is too slow, or the request's context ends.
// A slow reader gets the newest state, and skips the states before it.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	defer p.readers.Add(-1)
	if p.readers.Add(1) > mostReaders {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages are open already: close one", mostReaders), http.StatusServiceUnavailable)
		return
	}
	place := admission.PlaceOf(r.Context())
	place.Begin()
	defer place.End()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := stream{w: w, control: http.NewResponseController(w)}
	ping := time.NewTicker(silence)
	defer ping.Stop()
	for serial, err := int64(-1), error(nil); err == nil; {
		var wait <-chan struct{}
		if serial, wait, err = s.send(p.board, serial); err != nil {
			return
		}
		err = s.wait(r.Context(), wait, ping.C)
	}
}

// stream is the response to one reader.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send sends what was posted after a serial number.
func (s stream) send(b *Board, after int64) (int64, <-chan struct{}, error) {
	names, texts, serial, wait := b.news(after)
	if names == nil {
		names = []string{}
	}
	list, err := json.Marshal(names)
	if err == nil {
		err = s.event("runs", list)
	}
	for _, text := range texts {
		if err == nil {
			err = s.event("run", text)
		}
	}
	return serial, wait, err
}

// wait waits for a change, and sends comments meanwhile to detect a lost connection.
func (s stream) wait(ctx context.Context, changed <-chan struct{}, ping <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			return nil
		case <-ping:
			if err := s.write([]byte(": \n\n")); err != nil {
				return err
			}
		}
	}
}

// event sends one event; JSON has no line breaks. All readers share data, so it is not copied.
func (s stream) event(kind string, data []byte) error {
	return s.write([]byte("event: "+kind+"\ndata: "), data, []byte("\n\n"))
}

// write sends texts at once, within the time limit for a reader.
func (s stream) write(texts ...[]byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := s.w.Write(text); err != nil {
			return err
		}
	}
	return s.control.Flush()
}
