package rest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusal is an error with an HTTP code that no status has.
type refusal struct {
	code   int
	status codes.Code // the nearest, for observers
	text   string
}

func (r *refusal) Error() string { return r.text }

// GRPCStatus makes it a status error.
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.status, r.text) }

// awaitBody gives the body of a request the time in which it must have come, also where nobody reads it: before the
// reply the server looks for what is left of it. A connection that takes no deadlines, such as a test's, has none.
func awaitBody(w http.ResponseWriter, r *http.Request, o *Options) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.ReadTimeout))
	}
}

// readBody appends the body of a request to buf, decompressed where it is gzip. The body may not be larger than
// most bytes, before or after.
func readBody(w http.ResponseWriter, r *http.Request, buf []byte, o *Options) ([]byte, error) {
	if r.ContentLength > o.MaxBody {
		return buf, tooLarge(o.MaxBody)
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, o.MaxBody))
	if strings.Contains(r.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if err != nil {
			return buf, bodyError(err, o)
		}
		body = z
	} else if room := min(r.ContentLength, 1<<20) + padding; int64(cap(buf)) < room {
		// What a client says is not believed further than this; the rest grows as it comes.
		buf = make([]byte, 0, room)
	}
	for {
		if len(buf)+padding >= cap(buf) {
			buf = append(buf, make([]byte, max(4096, cap(buf)))...)[:len(buf)]
		}
		n, err := body.Read(buf[len(buf) : cap(buf)-padding])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > o.MaxBody:
			return buf, tooLarge(o.MaxBody)
		case err == io.EOF:
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			return buf, nil
		case err != nil:
			return buf, bodyError(err, o)
		}
	}
}

func tooLarge(most int64) error {
	return &refusal{http.StatusRequestEntityTooLarge, codes.InvalidArgument, fmt.Sprintf("Request body is larger than %d bytes", most)}
}

// bodyError says why a body could not be read.
func bodyError(err error, o *Options) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(o.MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, codes.DeadlineExceeded, fmt.Sprintf("Request body did not arrive within %v", o.ReadTimeout)}
	}
	return invalid("Failed to read the request body: %v", err)
}

// acceptsGzip reports whether a client takes replies in gzip.
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
