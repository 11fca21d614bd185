package security

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Token is a secret that requests carry as "Authorization: Bearer <secret>". It is compared in constant time.
type Token struct {
	sums   [][sha256.Size]byte // of the accepted secrets
	exempt map[string]bool
}

// NewToken makes a Token from a secret, or from several, one per line: the old and the new one while clients change.
// Requests to the exempt paths, such as health checks, need none; gRPC's health service never does.
func NewToken(secrets string, exempt ...string) (*Token, error) {
	t := &Token{exempt: map[string]bool{}}
	for line := range strings.Lines(secrets) {
		if line = strings.TrimSpace(line); line != "" {
			t.sums = append(t.sums, sha256.Sum256([]byte(line)))
		}
	}
	if len(t.sums) == 0 {
		return nil, errors.New("token: the secret is empty")
	}
	for _, p := range exempt {
		t.exempt[p] = true
	}
	return t, nil
}

// ReadToken reads the secrets of NewToken from a file.
func ReadToken(path string, exempt ...string) (*Token, error) {
	b, err := atomicfile.ReadSmall(path)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	t, err := NewToken(string(b), exempt...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// shows reports whether the value of an authorization header has the secret.
func (t *Token) shows(header string) bool {
	scheme, secret, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	good := 0
	for i := range t.sums {
		good |= subtle.ConstantTimeCompare(sum[:], t.sums[i][:])
	}
	return strings.EqualFold(scheme, "bearer") && good == 1
}

const refusal = "the request has no valid token: send the header \"authorization: Bearer TOKEN\""

// Handler answers 401 to requests without the token.
func (t *Token) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t.exempt[r.URL.Path] || t.shows(r.Header.Get("Authorization")) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": refusal})
	})
}

// Check returns why a call is refused: the secret is not in its headers. It needs no message, so a server may call it
// before it receives one.
func (t *Token) Check(ctx context.Context, method string) error {
	if strings.HasPrefix(method, "/grpc.health.v1.Health/") || t.exempt[method] {
		return nil
	}
	for _, h := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		if t.shows(h) {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, refusal)
}
