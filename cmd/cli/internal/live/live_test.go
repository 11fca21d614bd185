package live_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/events"
	"github.com/goestimator/goestimator/cmd/cli/internal/live"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T, b *live.Board) *httptest.Server {
	t.Helper()
	p, err := live.NewPage(b)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

// listen opens the stream of events; end closes it.
func listen(t *testing.T, url string) (lines *bufio.Scanner, status int, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(reply.Body), reply.StatusCode, func() { cancel(); reply.Body.Close() }
}

// next returns the data of the next event of a kind.
func next(t *testing.T, lines *bufio.Scanner, kind string) string {
	t.Helper()
	for found := false; lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && found {
			return data
		}
		if strings.HasPrefix(lines.Text(), "event: ") {
			found = lines.Text() == "event: "+kind
		}
	}
	t.Fatalf("the stream ended before an event %s: %v", kind, lines.Err())
	return ""
}

func TestEvents(t *testing.T) {
	b := live.NewBoard()
	s := server(t, b)
	lines, _, end := listen(t, s.URL)
	defer end()
	if got := next(t, lines, "runs"); got != "[]" {
		t.Errorf("runs: %s", got)
	}
	curves := live.Draw([]*events.Curve{{Run: ".", Tag: "loss", Steps: []int64{1, 2}, Values: []float64{0.5, math.NaN()}}})
	if err := b.Post([]string{"a", "b"}, []live.Run{{Name: "a", State: "running", Step: 2, Curves: curves}, {Name: "b", State: "failed", Reason: "line\nbreak"}}); err != nil {
		t.Fatal(err)
	}
	if got := next(t, lines, "runs"); got != `["a","b"]` {
		t.Errorf("runs: %s", got)
	}
	want := `{"name":"a","state":"running","step":2,"seconds":0,"curves":[{"run":"train","tag":"loss","steps":[1,2],"values":[0.5,null]}]}`
	if got := next(t, lines, "run"); got != want {
		t.Errorf("got %s, expected %s", got, want)
	}
	if got := next(t, lines, "run"); !strings.Contains(got, `line\nbreak`) {
		t.Errorf("got %s", got)
	}
	if err := b.Post([]string{"b"}, nil); err != nil {
		t.Fatal(err)
	}
	if got := next(t, lines, "runs"); got != `["b"]` {
		t.Errorf("runs: %s", got)
	}
	later, _, endLater := listen(t, s.URL)
	defer endLater()
	if got := next(t, later, "run"); !strings.Contains(got, `"name":"b"`) {
		t.Errorf("a later reader got %s", got)
	}
}

// Readers beyond the limit are refused; when one leaves, another is let in.
func TestReaders(t *testing.T) {
	s := server(t, live.NewBoard())
	var ends []func()
	for range 32 {
		lines, status, end := listen(t, s.URL)
		ends = append(ends, end)
		if next(t, lines, "runs"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	_, status, end := listen(t, s.URL)
	end()
	if status != http.StatusServiceUnavailable {
		t.Errorf("one more reader: status %d", status)
	}
	for _, end := range ends {
		end()
	}
	for status := 0; status != http.StatusOK; {
		_, status, end = listen(t, s.URL)
		end()
	}
}

// The page loads nothing from elsewhere, and accepts no uploads.
func TestPage(t *testing.T) {
	p, err := live.NewPage(live.NewBoard())
	if err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{"/": "text/html", "/page/app.js": "text/javascript", "/page/echarts.js": "text/javascript", "/page/page.css": "text/css"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if path != "/page/echarts.js" && strings.Contains(w.Body.String(), "://") {
			t.Errorf("%s names another host", path)
		}
	}
	for method, path := range map[string]string{http.MethodPost: "/", http.MethodGet: "/nothing", http.MethodDelete: "/events"} {
		w := httptest.NewRecorder()
		if p.ServeHTTP(w, httptest.NewRequest(method, path, nil)); w.Code < 400 {
			t.Errorf("%s %s: %d", method, path, w.Code)
		}
	}
}

// A long curve is drawn with few points, among them its ends and its extremes.
func TestDraw(t *testing.T) {
	c := &events.Curve{Run: "eval", Tag: "x"}
	for i := range 100_000 {
		c.Steps, c.Values = append(c.Steps, int64(i)), append(c.Values, math.Sin(float64(i)/1000))
	}
	c.Values[777], c.Values[50_001], c.Values[3] = 9, -9, math.NaN()
	d := live.Draw([]*events.Curve{c})[0]
	least, most := 0.0, 0.0
	for i, v := range d.Values {
		if i > 0 && d.Steps[i] <= d.Steps[i-1] {
			t.Fatalf("step %d follows %d", d.Steps[i], d.Steps[i-1])
		}
		if v != nil {
			least, most = min(least, *v), max(most, *v)
		}
	}
	if n := len(d.Steps); n > 500 || n < 250 || d.Steps[0] != 0 || d.Steps[n-1] != 99_999 || least != -9 || most != 9 {
		t.Errorf("%d points from %d to %d, %g to %g", n, d.Steps[0], d.Steps[n-1], least, most)
	}
}

// A page of one run.
func Example() {
	b := live.NewBoard()
	p, err := live.NewPage(b)
	if err != nil {
		panic(err)
	}
	if err := b.Post([]string{"iris"}, []live.Run{{Name: "iris", State: "running", Step: -1}}); err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "goestimator watch"))
	// Output: 200 true
}

// discards is a ResponseWriter that discards what is written.
type discards struct{ http.ResponseWriter }

func (discards) Write(b []byte) (int, error)      { return len(b), nil }
func (discards) SetWriteDeadline(time.Time) error { return nil }
func (discards) FlushError() error                { return nil }

// Readers share the encoded text of a run: serving one more reader does not copy it.
func TestReadersShareTexts(t *testing.T) {
	const size = 8 << 20
	b := live.NewBoard()
	if err := b.Post([]string{"a"}, []live.Run{{Name: "a", Reason: strings.Repeat("x", size)}}); err != nil {
		t.Fatal(err)
	}
	p, err := live.NewPage(b)
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.ServeHTTP(discards{httptest.NewRecorder()}, httptest.NewRequestWithContext(gone, http.MethodGet, "/events", nil))
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > size/2 {
		t.Errorf("a reader of %d bytes took %d", size, after.TotalAlloc-before.TotalAlloc)
	}
}
