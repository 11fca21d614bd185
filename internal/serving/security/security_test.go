package security

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// issue makes a certificate for 127.0.0.1 and its key.
func (a authority) issue(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}))
}

// client trusts a and presents a certificate if it has one.
func (a authority) client(t *testing.T, cert, key string) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: a.pool(), MinVersion: tls.VersionTLS12}
	if cert != "" {
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// get sends a request over HTTPS to a server with these settings and returns the serial number of its certificate.
func get(t *testing.T, server, client *tls.Config) (int64, error) {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	srv.Config.ErrorLog = nil
	lis := tls.NewListener(srv.Listener, server)
	srv.Listener = lis
	srv.Start()
	defer srv.Close()
	tr := &http.Transport{TLSClientConfig: client}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Get("https://" + lis.Addr().String())
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// call makes a health check of a gRPC server with these settings.
func call(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.Creds(credentials.NewTLS(server)))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	go func() { _ = srv.Serve(lis) }()
	defer srv.Stop()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(client)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// TensorFlow Serving's SSLConfig secures both ports; with client_verify only clients of custom_ca are accepted.
func TestSSLConfig(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key := ours.issue(t, 2)
	mine, mineKey := ours.issue(t, 3)
	foreign, foreignKey := theirs.issue(t, 4)
	text, err := prototext.Marshal(&config.SSLConfig{ServerKey: key, ServerCert: cert, CustomCa: ours.pem})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ssl.txt")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := ReadSSLConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := get(t, open, ours.client(t, "", "")); n != 2 || err != nil {
		t.Errorf("HTTPS: %d, %v", n, err)
	}
	if err := call(t, open, ours.client(t, "", "")); err != nil {
		t.Errorf("gRPC: %v", err)
	}
	text = append(text, " client_verify: true"...)
	mutual, err := ParseSSLConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		client *tls.Config
		ok     bool
	}{
		"known": {ours.client(t, mine, mineKey), true}, "none": {ours.client(t, "", ""), false}, "foreign": {ours.client(t, foreign, foreignKey), false},
	} {
		if _, err := get(t, mutual, c.client); (err == nil) != c.ok {
			t.Errorf("HTTPS with a certificate that is %s: %v", name, err)
		}
		if err := call(t, mutual, c.client); (err == nil) != c.ok {
			t.Errorf("gRPC with a certificate that is %s: %v", name, err)
		}
	}
}

func TestSSLConfigRefuses(t *testing.T) {
	cert, key := newAuthority(t).issue(t, 2)
	for want, m := range map[string]*config.SSLConfig{
		"server_cert and server_key": {ServerKey: "/etc/key.pem", ServerCert: cert},
		"custom_ca":                  {ServerKey: key, ServerCert: cert, CustomCa: "nothing", ClientVerify: true},
	} {
		text, err := prototext.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseSSLConfig(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	unknown := []byte("server_kay: 3")
	if _, err := ParseSSLConfig(unknown); err == nil {
		t.Error("a field that is not there was taken")
	}
	file := filepath.Join(t.TempDir(), "ssl.txt")
	if _, err := ReadSSLConfig(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, expected %v", err, fs.ErrNotExist)
	}
	if err := os.WriteFile(file, unknown, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSSLConfig(file); err == nil || !strings.HasPrefix(err.Error(), file+": ssl config: ") {
		t.Errorf("got %v, expected an error of %s", err, file)
	}
}

// Files are read again when they change; broken ones leave the old certificate in force.
func TestReload(t *testing.T) {
	ours := newAuthority(t)
	dir := t.TempDir()
	f := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Config(); err == nil {
		t.Error("files that are not there were taken")
	}
	if _, err := (Files{Cert: f.Cert}).Config(); err == nil {
		t.Error("a certificate without a key was taken")
	}
	cert, key := ours.issue(t, 10)
	write("cert.pem", cert)
	write("key.pem", key)
	write("ca.pem", ours.pem)
	r := &reloader{files: f}
	if err := r.read(); err != nil {
		t.Fatal(err)
	}
	server, client := r.config(), ours.client(t, cert, key)
	expect := func(serial int64, when string) {
		t.Helper()
		if n, err := get(t, server, client); n != serial || err != nil {
			t.Errorf("%s: certificate %d, %v; expected %d", when, n, err, serial)
		}
	}
	expect(10, "at first")
	write("cert.pem", "half a certifi")
	expect(10, "with a broken file")
	cert, key = ours.issue(t, 11)
	write("cert.pem", cert+"\n")
	write("key.pem", key)
	expect(11, "with new files")
	if c, err := f.Config(); err != nil {
		t.Error(err)
	} else if n, err := get(t, c, client); n != 11 || err != nil {
		t.Errorf("Config: %d, %v", n, err)
	}
}

func TestTokenHTTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\nn3xt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := ReadToken(file, "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	h := token.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, c := range []struct {
		path, header string
		want         int
	}{
		{"/v1/models/m", "Bearer s3cret", 204}, {"/v1/models/m", "bearer n3xt", 204}, {"/healthz", "", 204}, {"/v1/models/m", "", 401},
		{"/v1/models/m", "s3cret", 401}, {"/v1/models/m", "Bearer ", 401}, {"/v1/models/m", "Bearer s3cret\nn3xt", 401}, {"/v1/models/m", "Basic s3cret", 401}, {"/v1/models/m", "Bearer s3cre", 401}, {"/healthz/../v1/models/m", "", 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = c.path
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%s with %q: %d, expected %d", c.path, c.header, w.Code, c.want)
		}
		if w.Code == 401 && !strings.Contains(w.Body.String(), `\"authorization: Bearer TOKEN\"`) {
			t.Errorf("%s with %q: %s", c.path, c.header, w.Body)
		}
	}
	for _, text := range []string{"", "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadToken(file); err == nil {
			t.Error("an empty secret was taken")
		}
	}
}

func TestTokenGRPC(t *testing.T) {
	token, err := NewToken("s3cret")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method string, headers ...string) codes.Code {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(headers...))
		return status.Code(token.Check(ctx, method))
	}
	const predict = "/tensorflow.serving.PredictionService/Predict"
	if c := ask(predict, "authorization", "Bearer s3cret"); c != codes.OK {
		t.Errorf("with the token: %v", c)
	}
	for _, h := range [][]string{nil, {"authorization", "Bearer no"}, {"authorization", "s3cret"}, {"token", "s3cret"}} {
		if c := ask(predict, h...); c != codes.Unauthenticated {
			t.Errorf("with %v: %v", h, c)
		}
	}
	if c := ask("/grpc.health.v1.Health/Check"); c != codes.OK {
		t.Errorf("health: %v", c)
	}
}
