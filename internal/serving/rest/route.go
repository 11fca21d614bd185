package rest

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// The paths of the API; only names are case-sensitive.
var (
	predictPath = regexp.MustCompile(`^(?i)/v1/models/([^/:]+)(?:(?:/versions/(\d+))|(?:/labels/([^/:]+)))?:(classify|regress|predict)$`)
	statusPath  = regexp.MustCompile(`^(?i)/v1/models(?:/([^/:]+))?(?:(?:/versions/(\d+))|(?:/labels/([^/:]+)))?(?:\/(metadata))?$`)
)

// route says what a request asks for.
type route struct {
	method  string // "predict", "classify", "regress", "status", "metadata"; "" is malformed
	model   string
	version servable.Version
}

// routeOf reads a request line; target is the path with its query, as sent. The case of "metadata", "predict"
// and the like matters, as in TensorFlow Serving: other spellings are malformed, or ask for the status.
func routeOf(verb, target string) (route, error) {
	var m []string
	var r route
	switch verb {
	case http.MethodPost:
		if m = predictPath.FindStringSubmatch(target); m == nil {
			return r, nil
		}
		if m[4] == strings.ToLower(m[4]) {
			r.method = m[4]
		}
	case http.MethodGet:
		if m = statusPath.FindStringSubmatch(target); m == nil {
			return r, nil
		}
		r.method = "status"
		if m[4] == "metadata" {
			r.method = m[4]
		}
	default:
		return r, nil
	}
	r.model = unescape(m[1])
	if m[2] != "" {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return r, invalid("Failed to convert version: %s to numeric.", m[2])
		}
		r.version = servable.Version{Number: n, Exact: true}
	}
	r.version.Label = unescape(m[3])
	return r, nil
}

// unescape decodes percent escapes and keeps everything else.
func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// target returns the path of a request with its query, as sent.
func target(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// routed is the context of a request, with its routing key if it has one.
func routed(r *http.Request) context.Context {
	if key := r.Header.Get(inference.RoutingKey); key != "" {
		return inference.WithRoutingKey(r.Context(), key)
	}
	return r.Context()
}
