package inputs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// credentials returns the credentials that secure the connections.
func (f FlightSpec) credentials() (credentials.TransportCredentials, error) {
	if !f.tls() {
		return insecure.NewCredentials(), nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CAFile != "" {
		text, err := atomicfile.ReadSmall(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("flight.ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("flight.ca_file: %s holds no certificate: expected PEM", f.CAFile)
		}
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("flight.cert_file and flight.key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(c), nil
}

// flightSecrets are the headers of calls. No error shows their values.
type flightSecrets struct {
	from   string // where they come from
	values map[string]string
	plain  bool // they may be sent without TLS
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (s flightSecrets) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return s.values, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (s flightSecrets) RequireTransportSecurity() bool { return len(s.values) > 0 && !s.plain }

var headerName = regexp.MustCompile(`^[a-z0-9_.-]+$`)

// headers reads the headers.
func (f FlightSpec) headers() (flightSecrets, error) {
	text, key, s := "", "flight.headers_env", flightSecrets{from: "$" + f.HeadersEnv, values: map[string]string{}, plain: f.PlainHeaders}
	switch {
	case f.HeadersEnv != "":
		if text = os.Getenv(f.HeadersEnv); text == "" {
			return s, fmt.Errorf("%s: the environment variable %s is not set: let it hold lines such as authorization: Bearer TOKEN", key, f.HeadersEnv)
		}
	case f.HeadersFile != "":
		s.from, key = f.HeadersFile, "flight.headers_file"
		b, err := atomicfile.ReadSmall(f.HeadersFile)
		if err != nil {
			return s, fmt.Errorf("%s: %w", key, err)
		}
		text = string(b)
	}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := s.add(line); err != nil {
			return s, fmt.Errorf("%s: line %d of %s: %w", key, i+1, s.from, err)
		}
	}
	return s, nil
}

// add adds the header of a line. Its errors do not show the line.
func (s flightSecrets) add(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case !ok || !headerName.MatchString(name) || value == "":
		return errors.New("expected a name, a colon and a value, such as authorization: Bearer TOKEN")
	case strings.HasPrefix(name, "grpc-"):
		return errors.New("names that begin with grpc- are gRPC's own")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return errors.New("the value holds characters beyond ASCII")
	}
	if before, again := s.values[name]; again {
		value = before + ", " + value
	}
	s.values[name] = value
	return nil
}

// hide removes the values from a text: a service may repeat them.
func (s flightSecrets) hide(text string) string {
	var secrets, pairs []string
	for _, value := range s.values {
		for _, secret := range parts(value) {
			if len(secret) > 3 && !strings.EqualFold(secret, "bearer") && !strings.EqualFold(secret, "basic") {
				secrets = append(secrets, secret)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		pairs = append(pairs, secret, s.from)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// parts returns a value, its words, and user and password of basic authentication. Commas join the values of a header that has several lines.
func parts(value string) []string {
	all := append(strings.Split(value, ", "), value)
	basic := false
	for _, word := range strings.Fields(value) {
		word = strings.TrimSuffix(word, ",")
		all = append(all, word)
		if basic {
			all = append(all, userAndPassword(word)...)
		}
		basic = strings.EqualFold(word, "basic")
	}
	return all
}

// userAndPassword decodes the credentials of basic authentication (RFC 7617): both together, the user, and the password; nil for any other word.
func userAndPassword(word string) []string {
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(word, "="))
	if err != nil {
		return nil
	}
	user, password, _ := strings.Cut(string(text), ":")
	return []string{string(text), user, password}
}
