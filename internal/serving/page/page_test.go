package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPage(t testing.TB) *Page {
	t.Helper()
	src := modeltest.Source()
	p, err := New(Options{Models: src, Catalog: src, Title: "<b>title</b>"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	return v
}

// The page is self-contained, and its headers forbid a browser to load anything from elsewhere.
func TestPage(t *testing.T) {
	p := newPage(t)
	w := get(t, p, "/")
	body := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(body, "&lt;b&gt;title") || strings.Contains(body, "<b>title") {
		t.Errorf("%d, %.300s", w.Code, body)
	}
	for _, elsewhere := range []string{"http://", "https://", "//cdn"} {
		if strings.Contains(body, elsewhere) {
			t.Errorf("the page names %s", elsewhere)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "script-src 'self';") {
		t.Errorf("policy %q", csp)
	}
	for _, path := range Public {
		w := get(t, p, path)
		if w.Code != http.StatusOK || w.Body.Len() == 0 || strings.Contains(w.Body.String(), "serving_default") {
			t.Errorf("%s: %d", path, w.Code)
		}
		if again := get(t, p, path, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: %d", path, again.Code)
		}
	}
	for _, path := range []string{"/page", "/page/", "/page/app.jsx", "/index.html", "/v1/models/m"} {
		if w := get(t, p, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	w = httptest.NewRecorder()
	if p.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestModels(t *testing.T) {
	got := decode[[]Model](t, get(t, newPage(t), "/page/models.json"))
	if len(got) != 1 || got[0].Name != "m" || len(got[0].Versions) != 2 || got[0].Versions[0] != (Version{Version: "2", State: "AVAILABLE"}) {
		t.Errorf("got %+v", got)
	}
	p, err := New(Options{Models: &servable.Memory{}, Catalog: ended{}})
	if err != nil {
		t.Fatal(err)
	}
	got = decode[[]Model](t, get(t, p, "/page/models.json"))
	if len(got) != 1 || got[0].Versions[0] != (Version{Version: "9223372036854775807", State: "END", Error: "<script>"}) {
		t.Errorf("got %+v", got)
	}
	if none := get(t, p, "/page/traffic.json"); none.Code != http.StatusOK {
		t.Error(none.Code)
	}
}

// ended is a catalog of one version that failed.
type ended struct{}

func (ended) Models() []string { return []string{"bad"} }
func (ended) Status(name string) []servable.Status {
	return []servable.Status{{ID: servable.ID{Name: name, Version: 9223372036854775807}, State: servable.End, Err: errors.New("<script>")}}
}

// The form offers a request for each signature, and the model answers it.
func TestSignatures(t *testing.T) {
	p := newPage(t)
	got := decode[[]Signature](t, get(t, p, "/page/signatures.json?model=m&version=1"))
	first := got[0]
	if first.Key != inference.DefaultSignature || first.Verb != "predict" || first.Inputs[0] != "x: float32 [?]" || first.Outputs[0] != "y: float32 [?]" ||
		first.Body != "{\n  \"inputs\": {\n    \"x\": [\n      0.0\n    ]\n  }\n}" {
		t.Errorf("got %+v", first)
	}
	for _, s := range got {
		var body map[string]any
		if err := json.Unmarshal([]byte(s.Body), &body); err != nil || s.Key != inference.DefaultSignature && body["signature_name"] != s.Key {
			t.Errorf("%s: %v, %s", s.Key, err, s.Body)
		}
		if s.Key == "classify" && (s.Verb != "classify" || body["examples"] == nil) || s.Key == "regress" && s.Verb != "regress" {
			t.Errorf("got %+v", s)
		}
	}
	for path, code := range map[string]int{"model=m&version=x": 400, "model=m&version=9": 404, "model=x": 404, "": 404} {
		if w := get(t, p, "/page/signatures.json?"+path); w.Code != code || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

// Calls are counted by second; calls of unknown models are counted together.
func TestTraffic(t *testing.T) { synctest.Test(t, testTraffic) }

func testTraffic(t *testing.T) {
	p := newPage(t)
	for range 99 {
		p.Done(inference.Call{Model: "m", ID: servable.ID{Name: "m", Version: 1}, Latency: time.Millisecond})
	}
	p.Done(inference.Call{Model: "m", ID: servable.ID{Name: "m", Version: 1}, Latency: 100 * time.Millisecond})
	p.Done(inference.Call{Model: "m", ID: servable.ID{Name: "m", Version: 1}, Err: errors.New("no")})
	for _, name := range []string{"a", "b", ""} {
		p.Done(inference.Call{Model: name, Err: errors.New("no")})
	}
	time.Sleep(time.Second) // the current second is not shown
	got := decode[Traffic](t, get(t, p, "/page/traffic.json"))
	m, other := got.Models["m"], got.Models["(other)"]
	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}
	if len(got.Models) != 2 || sum(m.Count) != 101 || sum(m.Errors) != 1 || sum(other.Count) != 3 || len(m.Count) != seconds-1 {
		t.Errorf("got %d models, %d calls, %d errors, %d others", len(got.Models), sum(m.Count), sum(m.Errors), sum(other.Count))
	}
	for i, n := range m.Count {
		if n == 101 && (m.P50[i] < 1 || m.P50[i] > 1.2 || m.P99[i] < 1 || m.P99[i] > 1.2) {
			t.Errorf("quantiles %v and %v", m.P50[i], m.P99[i])
		}
	}
}

func TestClasses(t *testing.T) {
	for _, d := range []time.Duration{0, 1, time.Microsecond, 3 * time.Microsecond, time.Millisecond, time.Second, time.Hour} {
		c := class(d)
		s := slot{count: 1}
		s.latencies[c] = 1
		if ms := s.quantile(0.5); d > time.Microsecond && d < time.Minute && (ms < float64(d)/1e6*0.999 || ms > float64(d)/1e6*1.2) {
			t.Errorf("%v is of class %d, which ends at %v ms", d, c, ms)
		}
	}
}

// Memory is bounded for any number of models.
func TestManyModels(t *testing.T) {
	p := newPage(t)
	for i := range 2 * maxModels {
		p.Done(inference.Call{ID: servable.ID{Name: strings.Repeat("x", i+1)}})
	}
	if n := len(p.traffic.models); n > maxModels+1 {
		t.Errorf("%d models", n)
	}
}

func TestSample(t *testing.T) {
	m := modeltest.New()
	for _, key := range []string{"int8", "bool", "string", "echo"} {
		if s := m.Signatures()[key]; s != nil {
			if b, err := json.Marshal(sample(s.GetInputs()["x"])); err != nil {
				t.Errorf("%s: %s, %v", key, b, err)
			}
		}
	}
}

// TestSampleOfManyDimensions: the sample stays small where the product of the sizes exceeds 64 bits.
func TestSampleOfManyDimensions(t *testing.T) {
	info := &pb.TensorInfo{TensorShape: &tensor_shape_go_proto.TensorShapeProto{}}
	for range 84 {
		info.TensorShape.Dim = append(info.TensorShape.Dim, &tensor_shape_go_proto.TensorShapeProto_Dim{Size: 2})
	}
	if b, err := json.Marshal(sample(info)); err != nil || len(b) > 20000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// The body of a request for signatures is not read, let alone stored in files.
func TestSignaturesReadNoBody(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("model", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, 33<<20)); err != nil || form.Close() != nil {
		t.Fatal(err)
	}
	size := body.Len()
	r := httptest.NewRequest(http.MethodGet, "/page/signatures.json?model=m", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	newPage(t).ServeHTTP(w, r)
	if w.Code != http.StatusOK || body.Len() != size {
		t.Errorf("%d: %d of %d bytes were read", w.Code, size-body.Len(), size)
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestHostileName(t *testing.T) {
	w := get(t, newPage(t), "/page/signatures.json?model=m%1b%5b2J%0aready%c2%9b")
	if body := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(body, `m\x1b[2J\nready\u009b`) {
		t.Errorf("%d %q", w.Code, body)
	}
}
