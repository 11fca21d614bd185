package rest

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"sync"
	"time"
)

var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

// reply sends JSON, compressed if it is large and the client accepts that.
func (h *handler) reply(w http.ResponseWriter, r *http.Request, code int, body []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if h.GzipMin >= 0 && len(body) >= h.GzipMin {
		w.Header().Add("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.compress(w, code, body)
			return
		}
	}
	h.send(w, code, body)
}

// streamed is the size from which on a reply is sent while it is compressed, so that memory does not hold
// it twice.
const streamed = 1 << 20

// compress sends a reply compressed.
func (h *handler) compress(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	if len(body) < streamed {
		var buf bytes.Buffer
		z.Reset(&buf)
		// Writes to a bytes.Buffer do not fail.
		_, _ = z.Write(body)
		_ = z.Close()
		h.send(w, code, buf.Bytes())
		return
	}
	h.within(w, func() {
		w.WriteHeader(code)
		z.Reset(w)
		// A client that has disconnected does not matter to the server.
		_, _ = z.Write(body)
		_ = z.Close()
	})
}

// send sends a reply. A client that has disconnected does not matter to the server.
func (h *handler) send(w http.ResponseWriter, code int, body []byte) {
	h.within(w, func() {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(code)
		_, _ = w.Write(body)
	})
}

// within runs send, whose output the client must receive within the timeout.
func (h *handler) within(w http.ResponseWriter, send func()) {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(h.WriteTimeout))
	send()
	_ = rc.Flush()
	_ = rc.SetWriteDeadline(time.Time{})
}

// health answers a probe.
func (h *handler) health(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		text := "not ready\n"
		if h.NotReady != nil {
			text += h.NotReady()
		}
		h.send(w, http.StatusServiceUnavailable, []byte(text))
		return
	}
	h.send(w, http.StatusOK, []byte("ok\n"))
}
