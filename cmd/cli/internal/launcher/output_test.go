package launcher

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	w := &lineWriter{prefix: prefixes([]string{"ps-0"}, false)[0], to: &sink{out: &out}, tail: &tail{}}
	for _, part := range []string{"a", "b\nc\r\n\n", "d"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	w.flush()
	w.flush()
	if got, want := out.String(), "[ps-0] ab\n[ps-0] c\n[ps-0] \n[ps-0] d\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(w.tail.last(), "|"); got != "ab|c|d" {
		t.Errorf("tail %q", got)
	}
}

func TestLongLines(t *testing.T) {
	var out bytes.Buffer
	w := &lineWriter{to: &sink{out: &out}, tail: &tail{}}
	text := strings.Repeat("x", 2*maxLine+10)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	w.flush()
	if got := strings.ReplaceAll(out.String(), "\n", ""); got != text {
		t.Errorf("%d bytes of %d", len(got), len(text))
	}
	if len(w.part) > maxLine || len(w.tail.last()[0]) > tailWidth+3 {
		t.Error("a long line was kept")
	}
}

func TestColors(t *testing.T) {
	got := prefixes([]string{"chief-0", "ps-0"}, true)
	if string(got[0]) != "\x1b[36m[chief-0]\x1b[0m " || bytes.Equal(got[0][:5], got[1][:5]) {
		t.Errorf("got %q", got)
	}
}

func TestTailKeepsTheLast(t *testing.T) {
	var last tail
	for _, line := range strings.Split("1 2 3 4 5 6 7", " ") {
		last.add(line)
	}
	if got := strings.Join(last.last(), ""); got != "34567" {
		t.Errorf("got %s", got)
	}
}

// Every line of a task becomes an object that names the task; a line that is an object keeps its fields.
func TestRecords(t *testing.T) {
	for line, want := range map[string]string{
		`{"level":"WARN","msg":"a \"b\"","n":1}`: `{"from":"ps-0","level":"WARN","msg":"a \"b\"","n":1}`,
		` { "a" : [1] } `:                        `{"from":"ps-0","a" : [1] }`,
		"plain \x1b[31m text":                    `,"level":"INFO","msg":"plain \u001b[31m text"}`,
		"":                                       `,"msg":""}`,
		"{}":                                     `,"msg":"{}"}`,
		"{ }":                                    `,"msg":"{ }"}`,
		`{"a":1} {"b":2}`:                        `,"msg":"{\"a\":1} {\"b\":2}"}`,
		"[1]":                                    `,"msg":"[1]"}`,
		"\xff":                                   `,"msg":"\ufffd"}`,
	} {
		var out bytes.Buffer
		w := &lineWriter{prefix: []byte("[ps-0] "), record: "ps-0", to: &sink{out: &out}, tail: &tail{}}
		if _, err := w.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(out.Bytes(), &fields); err != nil || fields["from"] != "ps-0" || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q became %q: %v", line, out.String(), err)
		}
		if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, want) {
			t.Errorf("%q became %s, expected %s", line, got, want)
		}
	}
}
