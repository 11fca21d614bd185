package datasets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// size is the length of content, the file that servers send.
const size = 300_000

func content() []byte {
	b := make([]byte, size)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	return b
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// fileAt is a file with these URLs.
func fileAt(urls ...string) File {
	for i := range urls {
		urls[i] += "/a.bin"
	}
	return File{Name: "a.bin", Size: size, SHA256: sumOf(content()), URLs: urls}
}

// archive is a tar.gz of members in a folder, and one more file.
func archive(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	members["readme.html"] = []byte("read me")
	for name, data := range members {
		if err := w.WriteHeader(&tar.Header{Name: "folder/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// server counts requests and notes their ranges.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string
}

// serve answers each request with f; n counts requests.
func serve(t *testing.T, f func(n int, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		n := len(s.ranges)
		s.mu.Unlock()
		f(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// asked are the ranges of all requests.
func (s *server) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.ranges, ",")
}

// whole serves the requested bytes, like servers that support ranges.
func whole(data []byte) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.bin", time.Time{}, bytes.NewReader(data))
	}
}

// broken sends n of the requested bytes, then closes the connection.
func broken(w http.ResponseWriter, r *http.Request, data []byte, ranges bool, n int) {
	from := 0
	if ranges && r.Header.Get("Range") != "" {
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(data[from:min(from+n, len(data))])
	panic(http.ErrAbortHandler)
}
