package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// lineHandler writes a record as one plain line: the message, then its
// attributes as key=value; warnings and errors begin with their level.
type lineHandler struct {
	mu    *sync.Mutex
	out   io.Writer
	attrs []slog.Attr
}

func newLineHandler(out io.Writer) *lineHandler { return &lineHandler{mu: &sync.Mutex{}, out: out} }

// Enabled reports whether the level is Info or above.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle writes the line.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		b.WriteString(" " + a.Key + "=" + a.Value.String())
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, b.String())
	return err
}

// WithAttrs returns a handler that adds attrs to each line.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{h.mu, h.out, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup returns h: lines have no groups.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
