package security

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask sends a request with these headers through b; Host is one of them.
func (b Browsers) ask(method string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/v1/models/m:predict", strings.NewReader("{}"))
	r.Host = "localhost:8501"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	b.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
	return w
}

func TestHost(t *testing.T) {
	for host, loopback := range map[string]bool{
		"localhost": true, "localhost:8501": true, "LocalHost:1": true, "localhost.": true, "m.localhost:8501": true, "127.0.0.1": true, "127.0.0.1:9": true, "127.8.9.10": true,
		"[::1]:8501": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:80": true, "": true,
		"evil.example": false, "evil.example:8501": false, "localhost.evil.example": false, "127.0.0.1.nip.io": false, "notlocalhost": false, "10.0.0.1:8501": false,
		"0.0.0.0:8501": false, "[::]:8501": false, "[2001:db8::1]:8501": false, "127.1": false, "2130706433": false, "localhost:8501:1": false, ":8501": false,
	} {
		if got := (Browsers{Loopback: true}).ask("POST", "Host", host).Code; (got == http.StatusNoContent) != loopback {
			t.Errorf("host %q on loopback: %d", host, got)
		}
		if got := (Browsers{}).ask("POST", "Host", host).Code; got != http.StatusNoContent {
			t.Errorf("host %q elsewhere: %d", host, got)
		}
	}
	w := (Browsers{Loopback: true}).ask("GET", "Host", "evil.example")
	if body := w.Body.String(); w.Code != http.StatusForbidden || w.Header().Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(body, `{"error":"host \"evil.example\": `) {
		t.Errorf("%d %v %s", w.Code, w.Header(), body)
	}
}

// A server may listen under a name that resolves to loopback; requests then use this name.
func TestOwnName(t *testing.T) {
	b := Browsers{Loopback: true, Name: "models.internal"}
	for host, want := range map[string]int{
		"models.internal": http.StatusNoContent, "Models.Internal.:8501": http.StatusNoContent, "localhost:8501": http.StatusNoContent,
		"other.internal": http.StatusForbidden, "x.models.internal": http.StatusForbidden, ":8501": http.StatusForbidden,
	} {
		if got := b.ask("POST", "Host", host).Code; got != want {
			t.Errorf("host %q: %d, expected %d", host, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		headers []string
		ok      bool
	}{
		{nil, true},
		{[]string{"Content-Type", "text/plain"}, true},
		{[]string{"Content-Type", "application/x-www-form-urlencoded"}, true},
		{[]string{"Origin", ""}, true},
		{[]string{"Origin", "http://localhost:8501"}, true},
		{[]string{"Origin", "https://LOCALHOST:8501"}, true}, // behind a proxy with TLS
		{[]string{"Host", "models.example", "Origin", "https://models.example"}, true},
		{[]string{"Host", "models.example", "Origin", "https://models.example:443"}, true},
		{[]string{"Host", "models.example:80", "Origin", "http://models.example"}, true},
		{[]string{"Host", "[::1]:8501", "Origin", "http://[::1]:8501"}, true},
		{[]string{"Host", "127.0.0.1:8501", "Origin", "https://models.example", "Sec-Fetch-Site", "same-origin"}, true}, // a proxy changed the host
		{[]string{"Origin", "http://localhost:8502"}, false},
		{[]string{"Origin", "http://localhost"}, false},
		{[]string{"Origin", "http://127.0.0.1:8501"}, false},
		{[]string{"Origin", "https://evil.example"}, false},
		{[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, false},
		{[]string{"Origin", "https://sub.models.example", "Host", "models.example", "Sec-Fetch-Site", "same-site"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", "file://"}, false},
		{[]string{"Origin", "%zz"}, false},
		{[]string{"Origin", "localhost:8501"}, false},
		{[]string{"Origin", "http://localhost:8501", "Origin", "https://evil.example"}, false},
		{[]string{"Host", "models.example:443", "Origin", "http://models.example"}, false},
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			if got := (Browsers{}).ask(method, c.headers...).Code; (got == http.StatusNoContent) != c.ok {
				t.Errorf("%s with %q: %d", method, c.headers, got)
			}
			if got := (Browsers{AnyOrigin: true}).ask(method, c.headers...).Code; got != http.StatusNoContent {
				t.Errorf("%s with %q and CORS: %d", method, c.headers, got)
			}
		}
	}
	if got := (Browsers{Loopback: true, AnyOrigin: true}).ask("POST", "Host", "evil.example", "Origin", "http://evil.example").Code; got != http.StatusForbidden {
		t.Errorf("with CORS a wrong host passes: %d", got)
	}
}

// TestSiteWithoutOrigin: if a browser says that a page of another site sent a request, but not which, only links lead to the server.
func TestSiteWithoutOrigin(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"} {
		for site, own := range map[string]bool{"": true, "none": true, "same-origin": true, "same-site": false, "cross-site": false, "new-site": false} {
			ok := own || method == "GET" || method == "HEAD" || method == "OPTIONS"
			got := (Browsers{}).ask(method, "Sec-Fetch-Site", site)
			if (got.Code == http.StatusNoContent) != ok || !ok && !strings.Contains(got.Body.String(), `Sec-Fetch-Site \"`+site+`\": `) {
				t.Errorf("%s of site %q: %d %s", method, site, got.Code, got.Body)
			}
		}
	}
}

// A page that was loaded without TLS does not belong to a server with TLS, even if both have the same name.
func TestOriginUnderTLS(t *testing.T) {
	for origin, want := range map[string]int{"https://models.example": http.StatusNoContent, "http://models.example": http.StatusForbidden, "": http.StatusNoContent} {
		r := httptest.NewRequest(http.MethodPost, "https://models.example/v1/models/m:predict", strings.NewReader("{}"))
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		Browsers{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("origin %q: %d, expected %d", origin, w.Code, want)
		}
	}
}
