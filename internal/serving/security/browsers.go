package security

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Browsers refuses requests that web pages of other origins make a browser send. Requests without an Origin, which links and other
// programs send, pass. A request that may change something is also refused if the browser says that a page of another site sent it.
type Browsers struct {
	// Loopback says that the server listens on loopback only: a request for another name then comes from a page whose name was made to
	// resolve to loopback (DNS rebinding).
	Loopback  bool
	Name      string // another name of the server on loopback; "": none
	AnyOrigin bool   // pages of any origin may send requests
}

// Handler answers 403 to requests that are refused.
func (b Browsers) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := ""
		switch {
		case b.Loopback && !namesLoopback(r.Host) && !b.named(r.Host):
			why = fmt.Sprintf("host %q: the server listens on loopback, where it is called localhost, 127.0.0.1 or [::1]", r.Host)
		case !b.AnyOrigin && !SameOrigin(r):
			why = sender(r) + ": pages of other origins than the server's may not ask it, unless it is started with CORS support"
		default:
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": why})
	})
}

// sender describes the page that sent a request.
func sender(r *http.Request) string {
	if origin := r.Header.Get("Origin"); origin != "" {
		return fmt.Sprintf("origin %q", origin)
	}
	return fmt.Sprintf("Sec-Fetch-Site %q", r.Header.Get("Sec-Fetch-Site"))
}

// named reports whether a Host header has the server's own name.
func (b Browsers) named(host string) bool {
	return b.Name != "" && strings.EqualFold(strings.TrimSuffix(hostname(host), "."), strings.TrimSuffix(b.Name, "."))
}

// namesLoopback reports whether a Host header can only mean loopback. Requests without one, of HTTP 1.0, do not come from pages.
func namesLoopback(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(hostname(host), "."))
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "" || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// hostname is a Host header without its port and the brackets of an IPv6 address.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// SameOrigin reports whether a request does not come from a page of another origin. Sec-Fetch-Site, which pages cannot set, decides if
// a proxy has changed the Host.
func SameOrigin(r *http.Request) bool {
	given, site := strings.Join(r.Header.Values("Origin"), " "), r.Header.Get("Sec-Fetch-Site")
	if site == "same-origin" {
		return true
	}
	if given == "" {
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		return safe || site == "" || site == "none"
	}
	origin, err := url.Parse(given) // fails for two
	if err != nil || origin.Host == "" {
		return false
	}
	if origin.Scheme == "http" && r.TLS != nil { // anyone on the network may have forged that page
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[origin.Scheme]
	return strings.EqualFold(strings.TrimSuffix(origin.Host, port), strings.TrimSuffix(r.Host, port))
}
