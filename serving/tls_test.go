package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/security"
	"github.com/goestimator/goestimator/serving/client"
)

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (files security.Files, trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	secret, err2 := x509.MarshalPKCS8PrivateKey(key)
	dir := t.TempDir()
	files = security.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = errors.Join(err1, err2, os.WriteFile(files.Cert, text, 0o600),
		os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	trust = x509.NewCertPool()
	trust.AppendCertsFromPEM(text)
	return files, trust
}

// TestTLS: both ports accept only TLS, the socket plaintext.
func TestTLS(t *testing.T) {
	root := folders(t, "m/1")
	files, trust := certificate(t)
	secure, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(root, "socket")
	s := run(t, Options{Models: single(root, "m"), TLS: secure, RESTTLS: secure, Listen: Listen{Socket: socket}}).wait(t)
	at := s.Addresses()

	c, err := client.Dial(at.GRPC, client.Options{TLS: &tls.Config{RootCAs: trust}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := predict(t, c, "m"); err != nil {
		t.Errorf("gRPC over TLS: %v", err)
	}
	if _, err := predict(t, dial(t, "unix:"+socket), "m"); err != nil {
		t.Errorf("socket: %v", err)
	}
	if _, err := predict(t, dial(t, at.GRPC), "m"); err == nil {
		t.Error("gRPC answers without TLS")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: waitLimit}).Get("https://" + at.REST + "/readyz")
	if err != nil {
		t.Fatalf("REST over TLS: %v", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("REST over TLS: %s", resp.Status)
	}
	if got := get(t, "http://"+at.REST+"/readyz"); got[:3] != "400" {
		t.Errorf("REST without TLS: %s", got)
	}
}
