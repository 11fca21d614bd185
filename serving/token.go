package serving

import "github.com/goestimator/goestimator/internal/serving/security"

// Token is a secret that requests show as "Authorization: Bearer <secret>". It is compared in constant time.
type Token struct{ check *security.Token }

// NewToken makes a Token of a secret, or of several, a line each: the old and the new one while clients change. Requests to
// the paths in exempt need none, such as health checks; gRPC's health service never does.
func NewToken(secrets string, exempt ...string) (*Token, error) {
	t, err := security.NewToken(secrets, exempt...)
	if err != nil {
		return nil, err
	}
	return &Token{t}, nil
}

// ReadToken reads the secrets of NewToken from a file.
func ReadToken(path string, exempt ...string) (*Token, error) {
	t, err := security.ReadToken(path, exempt...)
	if err != nil {
		return nil, err
	}
	return &Token{t}, nil
}
