package serving

import "github.com/goestimator/goestimator/internal/serving/security"

// Token is a secret that requests send as "Authorization: Bearer <secret>". It is compared in constant time.
type Token struct{ check *security.Token }

// NewToken makes a Token from one or several secrets, one per line: for example the old and the new one while clients
// change. Requests to the paths in exempt, such as health checks, need no token; nor does gRPC's health service.
func NewToken(secrets string, exempt ...string) (*Token, error) {
	t, err := security.NewToken(secrets, exempt...)
	if err != nil {
		return nil, err
	}
	return &Token{t}, nil
}

// ReadToken is NewToken with the secrets in a file.
func ReadToken(path string, exempt ...string) (*Token, error) {
	t, err := security.ReadToken(path, exempt...)
	if err != nil {
		return nil, err
	}
	return &Token{t}, nil
}
