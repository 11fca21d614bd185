package webpage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/goestimator/goestimator/internal/report/webpage"
)

// A browser that has the text asks whether it has changed.
func ExampleStatic() {
	h := webpage.Static("text/css; charset=utf-8", "body { margin: 2em }")
	first := httptest.NewRecorder()
	h.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/page.css", nil))
	again := httptest.NewRequest(http.MethodGet, "/page.css", nil)
	again.Header.Set("If-None-Match", first.Header().Get("ETag"))
	second := httptest.NewRecorder()
	h.ServeHTTP(second, again)
	fmt.Println(first.Code, first.Body, second.Code, second.Body.Len())
	// Output: 200 body { margin: 2em } 304 0
}

func ExampleSecure() {
	h := http.Header{}
	webpage.Secure(h)
	fmt.Println(h.Get("X-Content-Type-Options"), h.Get("Referrer-Policy"))
	// Output: nosniff no-referrer
}
