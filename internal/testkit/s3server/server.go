package s3server

import (
	"bytes"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the access key that signs requests; other keys are refused.
const Key = "me"

// Server is a bucket. It is safe for concurrent use.
type Server struct {
	bucket string
	// Answer may answer a request for an object instead of the server, and returns whether it did. It is set before the first request.
	Answer func(w http.ResponseWriter, r *http.Request, key string) bool

	mu      sync.Mutex
	objects map[string]object
	reads   map[string]int
	pages   int
	puts    int
}

type object struct {
	content string
	time    time.Time
}

// New starts a server, which ends with the test, and points the SDK to it through the environment.
func New(t testing.TB, bucket string) *Server {
	t.Helper()
	s := &Server{bucket: bucket, objects: map[string]object{}, reads: map[string]int{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	for key, value := range map[string]string{"AWS_ENDPOINT_URL": web.URL, "AWS_ACCESS_KEY_ID": Key, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(key, value)
	}
	return s
}

// Put stores an object. Each is a second newer than the previous one.
func (s *Server) Put(key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	s.objects[key] = object{content, time.Unix(1700000000+int64(s.puts), 0).UTC()}
}

// Remove removes the objects whose names begin with prefix.
func (s *Server) Remove(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.objects, func(key string, _ object) bool { return strings.HasPrefix(key, prefix) })
}

// Reads returns how often an object was read.
func (s *Server) Reads(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[key]
}

// Pages returns how many pages of listings were read.
func (s *Server) Pages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pages
}

// Content returns the content of an object, or "".
func (s *Server) Content(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].content
}

// ServeHTTP answers ListObjectsV2, HeadObject, GetObject, also for ranges, and PutObject; unsigned requests are refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+Key+"/") {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case name != s.bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r.URL.Query())
	case s.Answer != nil && s.Answer(w, r, key):
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	default:
		s.object(w, r, key)
	}
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	o, there := s.objects[key]
	if there && r.Method == http.MethodGet {
		s.reads[key]++
	}
	s.mu.Unlock()
	if !there {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", o.etag())
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", o.time, bytes.NewReader([]byte(o.content)))
}

func (o object) etag() string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(o.content))) }

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code}) // a client that has disconnected needs no answer
}
