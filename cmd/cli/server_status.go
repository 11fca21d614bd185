package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/status"
	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/serving/security"
	"github.com/goestimator/goestimator/runconfig"
)

// serveStatus serves a page at an address until stop is called.
func serveStatus(address string, page *status.Page, log *slog.Logger) (stop func() error, err error) {
	at, stop, err := servePage(context.Background(), address, page, log)
	if err != nil {
		return nil, fmt.Errorf("--status-address: %w", err)
	}
	log.Info("serving the status", "page", "http://"+at+"/", "metrics", "http://"+at+status.MetricsPath)
	return stop, nil
}

// pageConnections bounds the connections to a page; a browser opens a few.
const pageConnections = 256

// servePage serves a read-only page at an address until stop is called. Requests have the context ctx.
func servePage(ctx context.Context, address string, page http.Handler, log *slog.Logger) (at string, stop func() error, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, err
	}
	host, _, _ := net.SplitHostPort(address)
	l = admission.NewPlaces(pageConnections, log).ListenerOf(l, admission.HTTPRefusal(admission.NoRoom))
	if !runconfig.Loopback(host) {
		log.Warn("the page can be read from other machines", "address", l.Addr().String())
	}
	h := security.Browsers{Loopback: runconfig.Loopback(host), Name: host}.Handler(page)
	s := admission.BoundHTTP(&http.Server{Handler: http.MaxBytesHandler(h, 1<<10), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, ErrorLog: admission.ErrorLog(log), BaseContext: func(net.Listener) context.Context { return ctx }})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return l.Addr().String(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}
