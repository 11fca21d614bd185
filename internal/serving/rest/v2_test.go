package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/openinference"
)

// slow is a repository whose loads take longer than bodies may.
type slow struct{ takes time.Duration }

func (s slow) Load(ctx context.Context, _ string) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slow) Unload(ctx context.Context, model string) error { return s.Load(ctx, model) }
func (s slow) Unloaded() []string                             { return nil }

// v2 serves the Open Inference Protocol of the models of modeltest.
func v2(t *testing.T, change func(*Options)) (ask func(path, body string, header ...string) string) {
	m := modeltest.Source()
	s := start(t, func(o *Options) {
		o.OpenInference = &openinference.Service{Inference: service(m), Catalog: m}
		if change != nil {
			change(o)
		}
	})
	return func(path, body string, header ...string) string {
		resp, text := do(t, s, http.MethodPost, path, strings.NewReader(body), header...)
		return resp.Status[:3] + " " + text
	}
}

// TestSlowLoads: a load may take longer than the body of a request, with and without a body.
func TestSlowLoads(t *testing.T) {
	const limit = 100 * time.Millisecond
	m := modeltest.Source()
	h := New(Options{Service: service(m), Catalog: m, ReadTimeout: limit, OpenInference: &openinference.Service{Inference: service(m), Catalog: m, Repository: slow{5 * limit}}})
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadTimeout = limit
	s.Start()
	t.Cleanup(s.Close)
	for _, body := range []string{"", "{}"} {
		if resp, text := do(t, s, http.MethodPost, "/v2/repository/models/m/load", strings.NewReader(body)); resp.StatusCode != http.StatusOK {
			t.Errorf("%q: got %d %s", body, resp.StatusCode, text)
		}
	}
}

// TestInferParameters: parameters of the wrong type, and extensions that are not implemented, are refused.
func TestInferParameters(t *testing.T) {
	ask := v2(t, nil)
	body := func(parameters, input, output string) string {
		return `{"parameters": ` + parameters + `, "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1], "parameters": ` + input +
			`}], "outputs": [{"name": "y", "parameters": ` + output + `}]}`
	}
	for _, c := range []struct{ parameters, input, output, want string }{
		{"{}", "{}", "{}", "200"}, {`{"signature_name": "serving_default", "timeout": 7}`, `{"x": []}`, `{"binary_data": false}`, "200"},
		{"7", "{}", "{}", "400"}, {"[]", "{}", "{}", "400"}, {"{}", `"a"`, "{}", "400"}, {"{}", "{}", "null", "400"}, {`{"signature_name": 7}`, "{}", "{}", "400"},
		{`{"binary_data_output": 1}`, "{}", "{}", "400"}, {"{}", "{}", `{"binary_data": "yes"}`, "400"}, {"{}", `{"binary_data_size": 4}`, "{}", "400"},
		{"{}", `{"binary_data_size": true}`, "{}", "400"}, {"{}", "{}", `{"classification": 2}`, "400"}, {"{}", "{}", `{"shared_memory_region": "a"}`, "400"},
	} {
		if got := ask("/v2/models/m/infer", body(c.parameters, c.input, c.output)); !strings.HasPrefix(got, c.want+" {") {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// TestInferShapes: sizes that overflow, with and without elements, and elements out of range.
func TestInferShapes(t *testing.T) {
	ask := v2(t, nil)
	for _, c := range []struct{ shape, datatype, data, want string }{
		{"[4294967296, 4294967296]", "FP32", "[]", "400"}, {"[9223372036854775807, 2]", "FP32", "[1]", "400"}, {"[9223372036854775808]", "FP32", "[1]", "400"},
		{"[1.0]", "FP32", "[1]", "400"}, {`["1"]`, "FP32", "[1]", "400"}, {"[1e0]", "FP32", "[1]", "400"}, {"[[1]]", "FP32", "[1]", "400"}, {"[0]", "FP32", "[1]", "400"},
		{"[" + strings.Repeat("1, ", 254) + "1]", "FP32", "[1]", "400"}, {"{}", "FP32", "[1]", "400"}, {"1", "FP32", "[1]", "400"},
		{"[2]", "FP32", "[1, [2]]", "400"}, {"[2]", "FP32", "[[1], [2, 3]]", "400"}, {"[2]", "FP32", "[[1], [2]]", "200"}, {"[0]", "FP32", "[]", "200"},
		{"[1]", "UINT8", "[256]", "400"}, {"[1]", "INT8", "[-129]", "400"}, {"[1]", "UINT16", "[-1]", "400"}, {"[1]", "INT16", "[1.5]", "400"}, {"[1]", "FP16", `["a"]`, "400"},
		{"[1]", "BF16", "[true]", "400"}, {"[1]", "BOOL", "[1]", "400"}, {"[1]", "BYTES", "[1]", "400"}, {"[1]", "UINT64", "[18446744073709551616]", "400"},
	} {
		got := ask("/v2/models/m/infer", `{"inputs": [{"name": "x", "shape": `+c.shape+`, "datatype": "`+c.datatype+`", "data": `+c.data+`}]}`)
		if !strings.HasPrefix(got, c.want+" {") {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// TestInferVersions: a version is a number without a sign; everything else is a label. A path is split before its parts are unescaped.
func TestInferVersions(t *testing.T) {
	ask := v2(t, nil)
	const body = `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`
	for path, want := range map[string]string{
		"m/infer": "200", "m/infer/": "200", "%6d/in%66er": "200", "m/versions/2/infer": "200", "m/versions/0002/infer": "200", "m/versions/0/infer": "404", "m/versions/-1/infer": "400",
		"m/versions/+2/infer": "400", "m/versions/9223372036854775808/infer": "400", "m/versions//infer": "200", "m/versions/infer": "404", "m%2Fversions%2F2/infer": "404",
		"m/versions%2F2/infer": "404", "%00/infer": "404", "../m/infer": "404", "/infer": "400", "m%2Finfer": "404",
	} {
		if got := ask("/v2/models/"+path, body); !strings.HasPrefix(got, want+" {") {
			t.Errorf("%s: got %s, expected %s", path, got, want)
		}
	}
}

// TestInferMemory: names, ids and many small inputs are paid for before they are copied.
func TestInferMemory(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 40, Request: 1 << 20})
	t.Cleanup(func() { // after the server has closed: a reply may arrive before its request is over
		if used := memory.Used(); used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
		memory.Close()
	})
	ask := v2(t, func(o *Options) { o.Memory = memory })
	long := strings.Repeat("a", 600<<10)
	if got := v2(t, nil)("/v2/models/m/infer", `{"inputs": [{"name": "`+long+`", "shape": [1], "datatype": "FP32", "data": [1]}]}`); !strings.HasPrefix(got, "400 {") || len(got) > 1000 {
		t.Errorf("a long name: got %d bytes: %.200s", len(got), got)
	}
	const input = `{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}`
	for name, body := range map[string]string{
		"an id":       `{"id": "` + long + `", "inputs": [` + input + `]}`,
		"a name":      `{"inputs": [{"name": "` + long + `", "shape": [1], "datatype": "FP32", "data": [1]}]}`,
		"many inputs": `{"inputs": [` + strings.Repeat(input+",", 2000) + input + `]}`,
		"raw":         `{"inputs": [{"name": "x", "shape": [131072], "datatype": "FP32", "parameters": {"binary_data_size": 524288}}]}`,
	} {
		header := []string{}
		if name == "raw" {
			header = append(header, headerLength, strconv.Itoa(len(body)))
			body += string(bytes.Repeat([]byte{0}, 524288))
		}
		if got := ask("/v2/models/m/infer", body, header...); !strings.HasPrefix(got, "413 {") {
			t.Errorf("%s: got %.200s", name, got)
		}
	}
}

// FuzzInfer: every body is answered, or refused as the client's mistake, and its memory is released.
func FuzzInfer(f *testing.F) {
	m := modeltest.Source()
	memory := budget.NewServer(budget.Limits{Server: 1 << 30, Request: 1 << 24})
	f.Cleanup(memory.Close)
	h := New(Options{Service: service(m), Catalog: m, Memory: memory, OpenInference: &openinference.Service{Inference: service(m), Catalog: m}})
	for _, body := range []string{
		`{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}`, `{"id": "\u0000", "parameters": {"binary_data_output": true}, "inputs": []}`,
		`{"parameters": {"signature_name": "string"}, "inputs": [{"name": "x", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}`,
	} {
		f.Add([]byte(body), -1)
	}
	raw := `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4}}]}`
	f.Add([]byte(raw+"abcd"), len(raw))
	raw = `{"parameters": {"signature_name": "string"}, "inputs": [{"name": "x", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": 9}}], "outputs": [{"name": "x", "parameters": {"binary_data": true}}]}`
	f.Add([]byte(raw+"\x01\x00\x00\x00a\x00\x00\x00\x00"), len(raw))
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		r := httptest.NewRequest(http.MethodPost, "/v2/models/m/infer", bytes.NewReader(body))
		if length >= 0 {
			r.Header.Set(headerLength, strconv.Itoa(length))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		if used := memory.Used(); used != 0 {
			t.Errorf("%d bytes are still held", used)
		}
	})
}
