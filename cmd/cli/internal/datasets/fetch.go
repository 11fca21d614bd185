package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"time"
)

const (
	// stalled is the default for how long a server may send nothing.
	stalled = 60 * time.Second
	// attempts is the number of requests to one server before the next one is tried.
	attempts = 10
)

// Downloader downloads data sets.
type Downloader struct {
	Client  *http.Client
	Stalled time.Duration                        // how long a server may send nothing; 0: a minute
	Report  func(f File, url string, from int64) // called before a request that starts at byte from; may be nil
	Wait    time.Duration                        // between two requests to one server; 0: a second
}

// statusError is a response without the file.
type statusError struct{ status string }

func (e *statusError) Error() string { return "the server answers " + e.status }

// sizeError is a response with a file of another size.
type sizeError struct{ got, expected int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("the server's file has %d bytes, expected %d", e.got, e.expected)
}

// errRange reports that a server cannot continue where the part ends.
var errRange = errors.New("the server does not have the range")

// fetch downloads a file into its part from the first URL that has it, and verifies it.
func (d Downloader) fetch(ctx context.Context, f File, p *part) (url string, err error) {
	var failed []error
	for _, url := range f.URLs {
		err := d.fetchFrom(ctx, f, url, p)
		if err == nil {
			return shown(url), nil
		}
		if errors.As(err, new(writeError)) {
			return "", fmt.Errorf("%s: %w: make room, then run the same command again: it goes on after the %d bytes that are there", p.file.Name(), err, p.size)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if of := (*neturl.Error)(nil); errors.As(err, &of) {
			err = of.Err // its message has the URL, too
		}
		failed = append(failed, fmt.Errorf("%s: %w", shown(url), err))
	}
	return "", fmt.Errorf("%s: no server has it: %w", f.Name, errors.Join(failed...))
}

// shown is a URL without its password.
func shown(address string) string {
	u, err := neturl.Parse(address)
	if err != nil {
		return "a URL that cannot be read"
	}
	return u.Redacted()
}

// fetchFrom downloads from one server. The connection may break, as long as each attempt adds to the part.
func (d Downloader) fetchFrom(ctx context.Context, f File, url string, p *part) error {
	for attempt := 1; ; attempt++ {
		begun := p.size
		err := d.request(ctx, f, url, p)
		if err == nil {
			err = p.check(f)
		}
		if err == nil {
			return nil
		}
		again := p.size > begun
		if errors.Is(err, ErrChecksum) || errors.Is(err, errRange) {
			if rerr := p.restart(); rerr != nil {
				return rerr
			}
			again = begun > 0 // the earlier part may be to blame
		}
		if !again || attempt == attempts || ctx.Err() != nil || errors.As(err, new(writeError)) {
			return err
		}
		if err := d.pause(ctx); err != nil {
			return err
		}
	}
}

func (d Downloader) pause(ctx context.Context) error {
	wait := d.Wait
	if wait == 0 {
		wait = time.Second
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request asks once for the missing bytes.
func (d Downloader) request(ctx context.Context, f File, url string, p *part) error {
	if p.size == f.Size {
		return nil // complete, but an earlier process was killed before it checked it
	}
	if p.size > f.Size {
		return errRange
	}
	if d.Report != nil {
		d.Report(f, shown(url), p.size)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := d.Stalled
	if silence == 0 {
		silence = stalled
	}
	watch := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came for %v", silence)) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity") // otherwise Go's client would decompress the file
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
	}
	resp, err := d.Client.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	if err := p.begin(resp, f.Size); err != nil {
		return err
	}
	body := &watchedReader{io.LimitReader(resp.Body, f.Size-p.size+1), watch, silence}
	return because(ctx, p.append(body))
}

// because replaces the error of a cancelled request by the cause.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.As(err, new(writeError)) {
		return cause
	}
	return err
}

// begin prepares the part for a response: it continues, or starts again if the server sends the whole file.
// If the server has a different file, the part is kept.
func (p *part) begin(resp *http.Response, size int64) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if n := resp.ContentLength; n >= 0 && n != size {
			return &sizeError{n, size}
		}
		return p.restart()
	case http.StatusPartialContent:
		var from, to, n int64
		read, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &n)
		switch {
		case read == 0 || from != p.size:
			return errRange
		case read == 3 && n != size:
			return &sizeError{n, size}
		}
		return nil
	case http.StatusRequestedRangeNotSatisfiable:
		return errRange
	}
	return &statusError{resp.Status}
}

// watchedReader resets a timer whenever data arrives.
type watchedReader struct {
	r       io.Reader
	watch   *time.Timer
	silence time.Duration
}

func (w *watchedReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if n > 0 {
		w.watch.Reset(w.silence)
	}
	return n, err
}
