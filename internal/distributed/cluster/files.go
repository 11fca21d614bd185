package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// files are a node's certificates, read from files.
type files struct {
	settings Security
	log      *slog.Logger

	mu   sync.Mutex
	seen [3][]byte // contents of CA, Cert, Key at the last look
	pair *tls.Certificate
	pool *x509.CertPool
}

// openFiles reads the files. Here, unlike later, any fault is an error.
func openFiles(s Security, log *slog.Logger) (*files, error) {
	f := &files{settings: s, log: log}
	contents, err := f.read()
	if err != nil {
		return nil, err
	}
	return f, f.parse(contents)
}

// current returns the certificates in the files or, if they cannot be used, the
// previous ones. pair is nil without a certificate, pool without a CA.
func (f *files) current() (pair *tls.Certificate, pool *x509.CertPool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	contents, err := f.read()
	if err == nil && !f.same(contents) {
		err = f.parse(contents)
		if err == nil {
			f.log.Info("certificates were loaded again", "cert_file", f.settings.Cert, "ca_file", f.settings.CA)
		}
	}
	if err != nil {
		f.log.Warn("certificates changed, but cannot be used: those before stay in use", "err", err)
	}
	return f.pair, f.pool
}

func (f *files) same(contents [3][]byte) bool {
	for i := range contents {
		if !bytes.Equal(contents[i], f.seen[i]) {
			return false
		}
	}
	return true
}

func (f *files) read() (contents [3][]byte, err error) {
	for i, path := range []string{f.settings.CA, f.settings.Cert, f.settings.Key} {
		if path == "" {
			continue
		}
		if contents[i], err = atomicfile.ReadSmall(path); err != nil {
			return contents, fmt.Errorf("rpc.%s: %w", []string{"ca_file", "cert_file", "key_file"}[i], err)
		}
	}
	return contents, nil
}

// parse uses the contents if all of them are valid.
func (f *files) parse(contents [3][]byte) error {
	var pool *x509.CertPool
	if f.settings.CA != "" {
		pool = x509.NewCertPool()
		if !pool.AppendCertsFromPEM(contents[0]) {
			return fmt.Errorf("rpc.ca_file %s holds no certificate in PEM form", f.settings.CA)
		}
	}
	var pair *tls.Certificate
	if f.settings.Cert != "" {
		p, err := tls.X509KeyPair(contents[1], contents[2])
		if err != nil {
			return fmt.Errorf("rpc.cert_file %s and rpc.key_file %s: %w", f.settings.Cert, f.settings.Key, err)
		}
		pair = &p
	}
	f.pair, f.pool, f.seen = pair, pool, contents
	return nil
}
