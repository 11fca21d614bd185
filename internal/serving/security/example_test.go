package security_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/goestimator/goestimator/internal/serving/security"
)

// Everything except the health check requires the token.
func ExampleToken_Handler() {
	token, err := security.NewToken("s3cret", "/healthz")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := token.Handler(http.NotFoundHandler())
	ask := func(path, header string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(path, w.Code)
	}
	ask("/v1/models/m", "")
	ask("/v1/models/m", "Bearer s3cret")
	ask("/healthz", "")
	// Output:
	// /v1/models/m 401
	// /v1/models/m 404
	// /healthz 404
}
