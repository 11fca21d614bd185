package rest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
)

// unread is a body that fails the test if it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// TestUnknownModelsAreNotReadFor: a request for an unknown model is refused before its body is read.
func TestUnknownModelsAreNotReadFor(t *testing.T) {
	m := models()
	h := New(Options{Service: service(m), Catalog: catalog{m}})
	for _, path := range []string{"none:predict", "none:classify", "none:regress", "half_plus_two/versions/77:predict", "half_plus_two/labels/none:predict"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/models/"+path, unread{t}))
		if w.Code != http.StatusNotFound && w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestBudget sends bodies that need far more memory than their size. Each is refused with 413 or 429, the error
// names the flag, and all memory is released.
func TestBudget(t *testing.T) {
	testkit.NotConcurrent(t)
	const mib = 1 << 20
	list := func(element string, n int) string {
		return `{"inputs":[` + strings.TrimSuffix(strings.Repeat(element+",", n/len(element)), ",") + "]}"
	}
	for name, c := range map[string]struct {
		path, body string
		limits     budget.Limits
		code       int
	}{
		"fits":            {"m:predict", `{"instances":[1,2]}`, budget.Limits{Server: mib}, 200},
		"text":            {"m:predict", list("1", mib), budget.Limits{Server: mib / 2}, 413},
		"text, each":      {"m:predict", list("1", mib), budget.Limits{Server: 64 * mib, Request: mib / 2}, 413},
		"lists":           {"m:predict", list("[]", mib), budget.Limits{Server: 4 * mib}, 413},
		"objects":         {"m:predict", list("{}", mib), budget.Limits{Server: 4 * mib}, 413},
		"brackets":        {"m:predict", `{"inputs":` + strings.Repeat("[", mib/2), budget.Limits{Server: 4 * mib}, 413},
		"numbers":         {"m:predict", `{"signature_name":"float64",` + list("1", mib)[1:], budget.Limits{Server: 3 * mib}, 413},
		"strings":         {"m:predict", `{"signature_name":"echo",` + list(`""`, mib)[1:], budget.Limits{Server: 6 * mib}, 413},
		"escapes":         {"m:predict", `{"signature_name":"echo",` + list(`"\u0001`+strings.Repeat("a", 1000)+`"`, mib)[1:], budget.Limits{Server: 3 * mib}, 413},
		"base64":          {"m:predict", `{"signature_name":"echo",` + list(`{"b64":"`+strings.Repeat("AAAA", 1000)+`"}`, mib)[1:], budget.Limits{Server: 3 * mib}, 413},
		"examples":        {"m:classify", `{"signature_name":"classify","examples":[{}` + strings.Repeat(",{}", mib/3) + "]}", budget.Limits{Server: 8 * mib}, 413},
		"values":          {"m:classify", `{"signature_name":"classify","examples":[{"x":[-1` + strings.Repeat(",-1", mib/3) + "]}]}", budget.Limits{Server: 8 * mib}, 413},
		"context":         {"m:regress", `{"signature_name":"regress","context":{"x":"` + strings.Repeat("a", 1000) + `"},"examples":[{}` + strings.Repeat(",{}", 100_000) + "]}", budget.Limits{Server: 64 * mib}, 413},
		"reply":           {"m:predict", `{"inputs":` + strings.Repeat("[", 200) + "1" + strings.Repeat("]", 200) + "}", budget.Limits{Server: 100_000}, 413},
		"by its own size": {"m:predict", `{"signature_name":"echo",` + list(`""`, 24*mib)[1:], budget.Limits{Server: 1 << 40}, 413},
	} {
		for form, body := range map[string]io.Reader{"plain": strings.NewReader(c.body), "gzip": gzipped(t, c.body)} {
			server := budget.NewServer(c.limits)
			m := modeltest.Source()
			h := New(Options{Service: service(m), Catalog: catalog{m}, Memory: server})
			r := httptest.NewRequest("POST", "/v1/models/"+c.path, body)
			if form == "gzip" {
				r.Header.Set("Content-Encoding", "gzip")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.code || c.code != 200 && !strings.Contains(w.Body.String(), "--"+budget.RequestFlag) {
				t.Errorf("%s, %s: expected %d, got %d %.300s", name, form, c.code, w.Code, w.Body)
			}
			if server.Used() != 0 {
				t.Errorf("%s, %s: %d bytes are still counted", name, form, server.Used())
			}
			server.Close()
		}
	}
}

// stalledBody reports when it is read, and delivers nothing until it is closed.
type stalledBody struct{ read, closed chan struct{} }

func (s stalledBody) Read([]byte) (int, error) {
	s.read <- struct{}{}
	<-s.closed
	return 0, io.ErrUnexpectedEOF
}

// Requests that announce large bodies and send nothing do not block the server's memory.
func TestAnnouncedBodiesHoldLittle(t *testing.T) {
	const calls = 20
	for range 2 { // collect twice to empty pools, whose content from other tests would count
		runtime.GC()
	}
	server := budget.NewServer(budget.Limits{Server: 4 << 20})
	m := modeltest.Source()
	h := New(Options{Service: service(m), Catalog: catalog{m}, Memory: server})
	body := stalledBody{make(chan struct{}, 2*calls), make(chan struct{})}
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			r := httptest.NewRequest("POST", "/v1/models/m:predict", body)
			r.ContentLength = 100 << 20
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
				t.Errorf("%d %.300s", w.Code, w.Body)
				body.read <- struct{}{} // the request was refused before
			}
		})
	}
	for range calls {
		<-body.read
	}
	if used := server.Used(); used > calls*(96<<10) {
		t.Errorf("%d requests without a body hold %d bytes", calls, used)
	}
	close(body.closed)
	all.Wait()
}

// TestServersBudget: memory that others hold is not available to a request; 429 says that trying again may help.
func TestServersBudget(t *testing.T) {
	server := budget.NewServer(budget.Limits{Server: 1 << 20})
	inside, gate := make(chan struct{}), make(chan struct{})
	inner := modeltest.New()
	m := &servable.Memory{}
	m.Set(servable.ID{Name: "half_plus_two", Version: 1}, &servable.Func{Sigs: inner.Signatures(),
		Compute: func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
			inside <- struct{}{}
			<-gate
			panic("it gives back nevertheless")
		}})
	h := New(Options{Service: service(m), Catalog: catalog{m}, Memory: server})
	body := `{"instances":[1` + strings.Repeat(",1", 150_000) + "]}"
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", predictURL, strings.NewReader(body)))
		return w
	}
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- ask() }()
	<-inside
	if w := ask(); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "--"+budget.ServerFlag) {
		t.Errorf("beside another: %d %.300s", w.Code, w.Body)
	}
	close(gate)
	if w := <-done; w.Code != http.StatusInternalServerError || server.Used() != 0 {
		t.Errorf("%d %.300s, %d bytes are still counted", w.Code, w.Body, server.Used())
	}
}
