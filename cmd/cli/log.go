package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// logs configures what a command logs on standard error.
type logs struct {
	quiet bool // only warnings and errors
	json  bool // lines are JSON objects
	color bool // text lines are coloured
}

// add adds the flags common to all commands.
func (l *logs) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&l.quiet, "quiet", "q", false, "tell only warnings and errors, and show no progress")
	flags.Var((*logFormat)(&l.json), "log-format", "form of the log lines on standard error")
}

// logFormat is the flag --log-format: whether lines are JSON.
type logFormat bool

// Set implements pflag.Value.
func (f *logFormat) Set(text string) error {
	if text != "text" && text != "json" {
		return fmt.Errorf("expected text or json")
	}
	*f = text == "json"
	return nil
}

// String implements pflag.Value.
func (f *logFormat) String() string {
	if *f {
		return "json"
	}
	return "text"
}

// Type implements pflag.Value; it is shown in help.
func (f *logFormat) Type() string { return "text|json" }

// asksForJSON reports whether a command line has --log-format json.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--log-format=json", arg == "--log-format" && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}

// handler returns a handler that writes lines to out.
func (l *logs) handler(out io.Writer) slog.Handler {
	level := slog.LevelInfo
	if l.quiet {
		level = slog.LevelWarn
	}
	if l.json {
		return slog.NewJSONHandler(escaper{out}, &slog.HandlerOptions{Level: level, ReplaceAttr: plainJSON})
	}
	return &lineHandler{out: out, level: level, color: l.color}
}

// plainJSON converts values to texts if JSON has no readable form for them.
func plainJSON(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindFloat64:
		if x := v.Float64(); math.IsNaN(x) || math.IsInf(x, 0) {
			a.Value = slog.StringValue(strconv.FormatFloat(x, 'g', -1, 64))
		}
	case slog.KindDuration:
		a.Value = slog.StringValue(v.Duration().String())
	case slog.KindAny:
		if s, ok := v.Any().(fmt.Stringer); ok {
			a.Value = slog.StringValue(s.String())
		}
	}
	return a
}

// escaper writes JSON and escapes every character that is not graphic. The
// standard library does not escape them beyond ASCII.
type escaper struct{ out io.Writer }

// Write implements io.Writer.
func (e escaper) Write(p []byte) (int, error) {
	text := strings.TrimSuffix(string(p), "\n")
	if printable.Text(text) == text {
		return e.out.Write(p)
	}
	var b []byte
	for _, r := range text {
		if printable.Text(string(r)) == string(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	if _, err := e.out.Write(append(b, '\n')); err != nil {
		return 0, err
	}
	return len(p), nil
}

// startLog makes the logger that the flags select.
func (a *app) startLog() {
	a.log = slog.New(a.logs.handler(a.stderr))
	slog.SetDefault(a.log) // for packages that log without a logger of their own
	a.last.words(a.complain)
}

// complain reports an error on one line.
func (a *app) complain(text string) {
	if a.logs.json {
		a.log.Error(text)
		return
	}
	fmt.Fprintln(a.stderr, paint(a.logs.color, red, a.name+":")+" "+text)
}

// lineHandler writes a record as one plain line: the message, then its attributes
// as key=value; warnings and errors begin with their level. Whatever a record
// contains, it stays one line, and each value stays one value.
type lineHandler struct {
	out   io.Writer // takes whole lines, from several goroutines
	level slog.Level
	color bool
	attrs []slog.Attr
}

// Enabled reports whether lines of the level are written.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle writes the line.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if r.Level >= slog.LevelWarn {
		code := yellow
		if r.Level >= slog.LevelError {
			code = red
		}
		b.WriteString(paint(h.color, code, strings.ToLower(r.Level.String())+":") + " ")
	}
	b.WriteString(printable.Text(r.Message))
	add := func(a slog.Attr) bool {
		v := a.Value.Resolve()
		text := v.String()
		if v.Kind() == slog.KindFloat64 {
			text = strconv.FormatFloat(v.Float64(), 'g', 4, 64)
		}
		b.WriteString(" " + paint(h.color, dim, a.Key+"=") + printable.Value(text))
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	b.WriteByte('\n')
	_, err := io.WriteString(h.out, b.String())
	return err
}

// WithAttrs returns a handler that adds attrs to each line.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return &with
}

// WithGroup returns h: lines have no groups.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// isTerminal reports whether w is a terminal that can move its cursor.
func isTerminal(w io.Writer) bool {
	if p, ok := w.(*printed); ok {
		w = p.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// The escape sequences of colours.
const (
	dim    = "2"
	red    = "31"
	yellow = "33"
	cyan   = "36"
)

// colorful reports whether output to w may be coloured; see no-color.org.
func colorful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// paint returns text in a colour, if on is set.
func paint(on bool, color, text string) string {
	if !on {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
