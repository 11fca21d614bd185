package rest

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the replies into testdata; read the difference before committing it")

// golden is a request and its reply. In the files below testdata one begins with "== name", the request line and
// headers; the body follows an empty line, verbatim or as one Go string literal; "-- CODE" and the reply end it.
type golden struct {
	name, method, target string
	header               http.Header
	body                 string // as written in the file
	code                 int
	reply                string
}

func readGoldens(t *testing.T, file string) []golden {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
		request, reply, _ := strings.Cut(part, "\n-- ")
		code, reply, _ := strings.Cut(reply, "\n")
		head, body, _ := strings.Cut(request, "\n\n")
		lines := strings.Split(head, "\n")
		g := golden{name: lines[0], header: http.Header{}, body: body, reply: strings.TrimRight(reply, "\n")}
		g.method, g.target, _ = strings.Cut(lines[1], " ")
		for _, l := range lines[2:] {
			k, v, _ := strings.Cut(l, ": ")
			g.header.Set(k, v)
		}
		g.code, _ = strconv.Atoi(code)
		out = append(out, g)
	}
	return out
}

func (g golden) requestBody() string {
	if s, err := strconv.Unquote(g.body); err == nil {
		return s
	}
	return g.body
}

func writeGoldens(t *testing.T, file string, all []golden) {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	for _, g := range all {
		fmt.Fprintf(w, "== %s\n%s %s\n", g.name, g.method, g.target)
		for k := range g.header {
			fmt.Fprintf(w, "%s: %s\n", k, g.header.Get(k))
		}
		if g.body != "" {
			fmt.Fprintf(w, "\n%s\n", g.body)
		}
		fmt.Fprintf(w, "-- %d\n%s\n\n", g.code, g.reply)
	}
	_ = w.Flush()
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGoldens(t *testing.T) {
	m := models()
	h := New(Options{Service: service(m), Catalog: catalog{m}})
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	total := 0
	for _, file := range files {
		all := readGoldens(t, file)
		total += len(all)
		for i, g := range all {
			r := httptest.NewRequest(g.method, g.target, strings.NewReader(g.requestBody()))
			r.Header = g.header
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := strings.TrimRight(w.Body.String(), "\n")
			if *update {
				all[i].code, all[i].reply = w.Code, got
				continue
			}
			if w.Code != g.code || got != g.reply {
				t.Errorf("%s: %s: code %d, expected %d\n%s", filepath.Base(file), g.name, w.Code, g.code, cmp.Diff(g.reply, got))
			}
			if ct := w.Header().Get("Content-Type"); got != "" && ct != "application/json" && !strings.HasSuffix(g.target, "z") {
				t.Errorf("%s: Content-Type %q", g.name, ct)
			}
		}
		if *update {
			writeGoldens(t, file, all)
		}
	}
	if total < 90 {
		t.Errorf("%d cases, expected 90 or more", total)
	}
}
