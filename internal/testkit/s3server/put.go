package s3server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// put answers PutObject, also for chunked bodies, which the SDK sends with a checksum at the end.
func (s *Server) put(w http.ResponseWriter, r *http.Request, key string) {
	var content []byte
	var err error
	if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		content, err = chunks(bufio.NewReader(r.Body))
	} else {
		content, err = io.ReadAll(r.Body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	s.Put(key, string(content))
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("ETag", s.objects[key].etag())
}

// chunks reads lines SIZE;..., each followed by that many bytes and a newline, up to a chunk of size
// 0.
func chunks(in *bufio.Reader) (content []byte, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		hex, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseUint(hex, 16, 31)
		if err != nil || n == 0 {
			return content, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		if string(chunk[n:]) != "\r\n" {
			return nil, errors.New("a chunk is longer than it says")
		}
		content = append(content, chunk[:n]...)
	}
}
