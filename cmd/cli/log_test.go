package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/platform/printable"
)

// lineOf is the line that the flags make of a record, without its time.
func lineOf(l logs, level slog.Level, message string, args ...any) string {
	var out bytes.Buffer
	log := slog.New(l.handler(&out)).With("run", 3)
	log.Log(context.Background(), level, message, args...)
	return out.String()
}

func TestLogLinesOfText(t *testing.T) {
	for _, c := range []struct {
		logs  logs
		level slog.Level
		want  string
	}{
		{logs{}, slog.LevelInfo, "saved run=3 loss=0.1235 after=2s\n"},
		{logs{}, slog.LevelWarn, "warn: saved run=3 loss=0.1235 after=2s\n"},
		{logs{}, slog.LevelError, "error: saved run=3 loss=0.1235 after=2s\n"},
		{logs{}, slog.LevelDebug, ""},
		{logs{quiet: true}, slog.LevelInfo, ""},
		{logs{quiet: true}, slog.LevelWarn, "warn: saved run=3 loss=0.1235 after=2s\n"},
		{logs{quiet: true, json: true}, slog.LevelInfo, ""},
		{logs{color: true}, slog.LevelInfo, "saved \x1b[2mrun=\x1b[0m3 \x1b[2mloss=\x1b[0m0.1235 \x1b[2mafter=\x1b[0m2s\n"},
		{logs{color: true}, slog.LevelWarn, "\x1b[33mwarn:\x1b[0m saved \x1b[2mrun=\x1b[0m3 \x1b[2mloss=\x1b[0m0.1235 \x1b[2mafter=\x1b[0m2s\n"},
		{logs{color: true}, slog.LevelError, "\x1b[31merror:\x1b[0m saved \x1b[2mrun=\x1b[0m3 \x1b[2mloss=\x1b[0m0.1235 \x1b[2mafter=\x1b[0m2s\n"},
	} {
		if got := lineOf(c.logs, c.level, "saved", "loss", 0.12345678, "after", 2*time.Second); got != c.want {
			t.Errorf("%+v, %v: got %q, expected %q", c.logs, c.level, got, c.want)
		}
	}
}

// Whatever the record, a line is a JSON object with values that programs can read.
func TestLogLinesOfJSON(t *testing.T) {
	text := lineOf(logs{json: true, color: true}, slog.LevelError, "a \"b\"\nc", "nan", math.NaN(), "inf", math.Inf(-1), "loss", 0.25, "step", int64(7),
		"after", 1500*time.Millisecond, "task", cluster.Task{Job: "ps", Index: 1}, "error", errors.New("no\nway"), "shape", []int{2, 3}, "nothing", nil, "bidi", "\u202em\U000e0001")
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || printable.Text(strings.TrimSuffix(text, "\n"))+"\n" != text {
		t.Fatalf("%v: %q", err, text)
	}
	if _, err := time.Parse(time.RFC3339Nano, got["time"].(string)); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]any{"level": "ERROR", "msg": "a \"b\"\nc", "run": 3.0, "nan": "NaN", "inf": "-Inf", "loss": 0.25, "step": 7.0,
		"after": "1.5s", "task": "/job:ps/task:1", "error": "no\nway", "nothing": nil, "bidi": "\u202em\U000e0001"} {
		if got[name] != want {
			t.Errorf("%s: got %#v, expected %#v", name, got[name], want)
		}
	}
}

// Colours are for terminals that support them, unless NO_COLOR is set.
func TestColorful(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm-256color")
	if colorful(&bytes.Buffer{}) || isTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is taken for a terminal")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("skipped: there are no terminals here: %v", err)
	}
	defer terminal.Close()
	for _, c := range []struct {
		name, value   string
		colors, moves bool
	}{{"TERM", "xterm", true, true}, {"NO_COLOR", "1", false, true}, {"NO_COLOR", "", true, true}, {"TERM", "dumb", false, false}} {
		t.Setenv(c.name, c.value)
		if colorful(terminal) != c.colors || isTerminal(&printed{Writer: terminal}) != c.moves {
			t.Errorf("%s=%s: colours %t, a terminal %t", c.name, c.value, colorful(terminal), isTerminal(terminal))
		}
	}
}

// A record is one line, and its values can be told apart even if they contain
// untrusted input.
func TestLogLines(t *testing.T) {
	var out bytes.Buffer
	log := slog.New((&logs{}).handler(&out)).With("from", "10.0.0.1:5 ready=yes")
	log.Info("ready", "models", "a,b", "took", 3*time.Second, "n", 5, "none", "")
	log.Warn("no model\nready grpc=127.0.0.1:8500", "model", "m\x1b[2J\r\nready grpc=:8500", "error", errors.New("two\nlines"))
	log.Error("caf\xe9", "model", "\u202em")
	want := `ready from="10.0.0.1:5 ready=yes" models=a,b took=3s n=5 none=""
warn: no model\nready grpc=127.0.0.1:8500 from="10.0.0.1:5 ready=yes" model="m\x1b[2J\r\nready grpc=:8500" error="two\nlines"
error: caf\xe9 from="10.0.0.1:5 ready=yes" model="\u202em"
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	if got, want := oneLine(errors.New("model \x1b[31mm\n  is\r\n\nbad")), `model \x1b[31mm; is; bad`; got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
}

// A panic in a command gives exit code 1 and a stack, and is one object with --log-format json.
func TestPanics(t *testing.T) {
	input := WithInput("mine", estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) { panic("oh\nno") }))
	t.Setenv("GOESTIMATOR_TRAIN_INPUT_FORMAT", "mine")
	config := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(config, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"inspect", "data", "--config", config}
	var text, lines bytes.Buffer
	if code := Run(context.Background(), args, io.Discard, &text, input); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if got := text.String(); !strings.HasPrefix(got, "goestimator: panic: oh; no\n") || !strings.Contains(got, "TestPanics") {
		t.Errorf("got %s", got)
	}
	if code := Run(context.Background(), append(args, "--log-format", "json"), io.Discard, &lines, input); code != 1 {
		t.Errorf("exit code %d", code)
	}
	var got struct{ Level, Msg, Stack string }
	if err := json.Unmarshal(lines.Bytes(), &got); err != nil || got.Level != "ERROR" || got.Msg != "panic: oh; no" || !strings.Contains(got.Stack, "TestPanics") {
		t.Errorf("%v: got %s", err, lines.String())
	}
}
