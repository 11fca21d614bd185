package rest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusal is an error with an HTTP code that no gRPC status maps to.
type refusal struct {
	code   int
	status codes.Code // the closest one, for observers
	text   string
}

func (r *refusal) Error() string { return r.text }

// GRPCStatus returns the error as a status.
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.status, r.text) }

// awaitBody limits the time in which the body of a request must arrive, even if it is not read: before the reply the server
// reads the rest of it. Connections without deadlines, such as a test's, have no limit.
func awaitBody(w http.ResponseWriter, r *http.Request, o *Options) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.ReadTimeout))
	}
}

// readBody reads the body of a request and decompresses gzip. MaxBody limits its size, before and after.
func (s *scratch) readBody(w http.ResponseWriter, r *http.Request, o *Options) error {
	s.text = s.text[:0]
	if r.ContentLength > o.MaxBody {
		return tooLarge(o.MaxBody)
	}
	inTime := func() bool { return true }
	if o.Ending != nil && r.ContentLength != 0 {
		rc := http.NewResponseController(w)
		inTime = context.AfterFunc(o.Ending, func() { _ = rc.SetReadDeadline(time.Now()) })
		defer inTime()
	}
	body, left := io.Reader(http.MaxBytesReader(w, r.Body, o.MaxBody)), r.ContentLength
	var packed *counter // nil: the body is not compressed
	if strings.Contains(r.Header.Get("Content-Encoding"), "gzip") {
		packed = &counter{Reader: body}
		z, err := gzip.NewReader(packed)
		if err != nil {
			return bodyError(err, o)
		}
		body, left = z, -1
	}
	for {
		if err := s.room(left); err != nil {
			return err
		}
		n, err := body.Read(s.text[len(s.text) : cap(s.text)-padding])
		s.text = s.text[:len(s.text)+n]
		s.account.Received(n)
		if packed != nil {
			s.account.Unpacked(packed.n)
		}
		if left -= int64(n); left < 0 {
			left = -1
		}
		switch {
		case int64(len(s.text)) > o.MaxBody:
			return tooLarge(o.MaxBody)
		case err == io.EOF:
			if !inTime() { // at a deadline, now or soon, the client would seem to have disconnected
				return admission.ErrEnding
			}
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			s.place = admission.PlaceOf(r.Context())
			s.place.Begin()
			return nil
		case err != nil:
			return bodyError(err, o)
		}
	}
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// room makes room for more of a body; left is how many more bytes are announced (below 0: unknown). At first only 64 KiB of
// the announced size is allocated, so that clients that send nothing hold little memory; the rest grows as it arrives.
func (s *scratch) room(left int64) error {
	if len(s.text)+padding < cap(s.text) {
		return nil
	}
	more := max(nextSize(cap(s.text))-len(s.text), padding+1)
	if left >= 0 {
		more = int(min(max(int64(more), 64<<10), left+1+padding))
	}
	if err := s.account.Reserve(len(s.text) + more); err != nil {
		return err
	}
	bigger := append(make([]byte, 0, len(s.text)+more), s.text...)
	s.account.Release(cap(s.text))
	s.text = bigger
	return nil
}

func tooLarge(most int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, codes.InvalidArgument, fmt.Sprintf("Request body is larger than %d bytes", most)}
}

// bodyError returns the error of a body that could not be read.
func bodyError(err error, o *Options) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(o.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded) && o.Ending != nil && o.Ending.Err() != nil:
		return admission.ErrEnding
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, codes.DeadlineExceeded, fmt.Sprintf("Request body did not arrive within %v", o.ReadTimeout)}
	}
	return invalid("Failed to read the request body: %v", err)
}

// acceptsGzip reports whether a client accepts replies in gzip.
func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, params, _ := strings.Cut(part, ";")
		if strings.TrimSpace(coding) == "gzip" {
			q := strings.ReplaceAll(strings.TrimSpace(params), " ", "")
			return q == "" || strings.Trim(strings.TrimPrefix(q, "q="), "0.") != ""
		}
	}
	return false
}
