package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/format/pbtext"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
)

// ReadSSLConfig reads TensorFlow Serving's --ssl_config_file: an SSLConfig in text form that holds PEM strings.
func ReadSSLConfig(path string) (*tls.Config, error) {
	text, err := atomicfile.ReadSmall(path)
	if err != nil {
		return nil, fmt.Errorf("ssl config: %w", err)
	}
	c, err := ParseSSLConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseSSLConfig makes TLS settings from an SSLConfig in text form.
func ParseSSLConfig(text []byte) (*tls.Config, error) {
	var m config.SSLConfig
	if err := pbtext.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("ssl config: %w", err)
	}
	pair, err := tls.X509KeyPair([]byte(m.ServerCert), []byte(m.ServerKey))
	if err != nil {
		return nil, fmt.Errorf("ssl config: server_cert and server_key: %w; both are the PEM text itself, not the names of files", err)
	}
	clients, err := pool(m.CustomCa, m.ClientVerify)
	if err != nil {
		return nil, fmt.Errorf("ssl config: custom_ca: %w", err)
	}
	return settings(pair, clients), nil
}

// pool reads the authorities that sign clients' certificates. If there are none but clients need a certificate, it is the system's.
func pool(pem string, verify bool) (*x509.CertPool, error) {
	if !verify {
		return nil, nil
	}
	if pem == "" {
		return x509.SystemCertPool()
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("no certificate found: expected PEM")
	}
	return p, nil
}

// settings returns the settings of a handshake. With a nil pool, clients need no certificate.
func settings(pair tls.Certificate, clients *x509.CertPool) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{pair}}
	if clients != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	return c
}

var protocols = []string{"h2", "http/1.1"}
