package security

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Files names the PEM files of a server. Handshakes check them, at most once a second, and read them again if their size or
// time has changed. If they cannot be read, as when half written, the last good ones stay in force.
type Files struct {
	Cert, Key string
	ClientCA  string       // authorities that sign clients' certificates, which are then required; empty: clients need none
	Log       *slog.Logger // reports reloads; nil: nobody
}

// Config reads the files and returns TLS settings for a server.
func (f Files) Config() (*tls.Config, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("tls: expected both a certificate and a key file")
	}
	r := &reloader{files: f, every: time.Second}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.config(), nil
}

type reloader struct {
	files Files
	every time.Duration

	mu      sync.Mutex
	now     *tls.Config
	stamps  string
	checked time.Time
}

// config uses the present settings for each handshake.
func (r *reloader) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }}
}

func (r *reloader) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.checked) < r.every {
		return r.now
	}
	r.checked = time.Now()
	if stamps := r.look(); stamps != r.stamps {
		err := r.read()
		if r.files.Log == nil {
			return r.now
		}
		if err != nil {
			r.files.Log.Error("certificates changed, but cannot be used: the old ones stay", "error", err)
		} else {
			r.files.Log.Info("certificates read again", "cert", r.files.Cert)
		}
	}
	return r.now
}

func (r *reloader) paths() []string {
	paths := []string{r.files.Cert, r.files.Key}
	if r.files.ClientCA != "" {
		paths = append(paths, r.files.ClientCA)
	}
	return paths
}

// look describes the state of the files without reading them.
func (r *reloader) look() string {
	var all string
	for _, p := range r.paths() {
		if info, err := os.Stat(p); err == nil {
			all += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), " ")
		} else {
			all += "- "
		}
	}
	return all
}

func (r *reloader) read() error {
	stamps := r.look()
	var pem [3][]byte
	for i, p := range r.paths() {
		b, err := atomicfile.ReadSmall(p)
		if err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		pem[i] = b
	}
	pair, err := tls.X509KeyPair(pem[0], pem[1])
	if err != nil {
		return fmt.Errorf("tls: %s and %s: %w", r.files.Cert, r.files.Key, err)
	}
	clients, err := pool(string(pem[2]), r.files.ClientCA != "")
	if err != nil {
		return fmt.Errorf("tls: %s: %w", r.files.ClientCA, err)
	}
	r.now, r.stamps, r.checked = settings(pair, clients), stamps, time.Now()
	return nil
}
