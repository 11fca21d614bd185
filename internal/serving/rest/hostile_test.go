package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// An error quotes names of the request without characters that a terminal obeys, and a JSON reader gets the original names.
func TestErrorsQuoteHostileNames(t *testing.T) {
	s := start(t, nil)
	const name, read = "m%1b%5b2J%7f%c2%9b31m%e2%80%aex%f3%a0%80%81%ff%22", "m\x1b[2J\x7f\u009b31m\u202ex\U000e0001\ufffd\""
	for _, ask := range []struct{ method, path string }{
		{http.MethodGet, "/v1/models/" + name}, {http.MethodGet, "/v1/models/" + name + "/metadata"}, {http.MethodGet, "/v1/models/" + name + "/versions/7"},
		{http.MethodPost, "/v1/models/" + name + ":predict"}, {http.MethodPost, "/v1/models/" + name + "/labels/" + name + ":classify"},
		{http.MethodPost, "/v1/models/half_plus_two/labels/" + name + ":predict"},
	} {
		resp, body := do(t, s, ask.method, ask.path, strings.NewReader(`{"instances": [1], "examples": [{"x": 1}]}`))
		if i := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && !strconv.IsGraphic(r) }); i >= 0 || !utf8.ValidString(body) {
			t.Errorf("%s %s: byte %d of %q", ask.method, ask.path, i, body)
		}
		var reply struct{ Error string }
		if err := json.Unmarshal([]byte(body), &reply); err != nil || resp.StatusCode < 400 || !strings.Contains(reply.Error, read) {
			t.Errorf("%s %s: %d %v %q", ask.method, ask.path, resp.StatusCode, err, reply.Error)
		}
	}
}
