package inputs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
)

// Defaults of a FlightSpec.
const (
	flightMessageMB   = 256
	flightTimeoutSecs = 600
)

// maxFlightTimeoutSecs bounds FlightSpec.TimeoutSecs, so that it fits in a time.Duration.
const maxFlightTimeoutSecs = 1e6

// flightCalls calls a service. It is for one goroutine.
type flightCalls struct {
	spec    FlightSpec
	secrets flightSecrets
	dial    []grpc.DialOption
	conns   map[string]*grpc.ClientConn
}

// endpoint is a stream of rows, and where it can be read; no places means only at the service itself.
type endpoint struct {
	ticket *flight.Ticket
	places []string
}

// calls prepares connections, which are opened on first use.
func (f FlightSpec) calls() (*flightCalls, error) {
	secrets, err := f.headers()
	if err != nil {
		return nil, err
	}
	creds, err := f.credentials()
	if err != nil {
		return nil, err
	}
	size := cmp.Or(f.MaxMessageMB, flightMessageMB) << 20
	return &flightCalls{spec: f, secrets: secrets, conns: map[string]*grpc.ClientConn{},
		dial: []grpc.DialOption{grpc.WithTransportCredentials(creds), grpc.WithPerRPCCredentials(secrets), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(size))}}, nil
}

func (c *flightCalls) close() (err error) {
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// at returns the client of an address.
func (c *flightCalls) at(address string) (flight.FlightServiceClient, error) {
	conn := c.conns[address]
	if conn == nil {
		var err error
		if conn, err = grpc.NewClient(address, c.dial...); err != nil {
			return nil, fmt.Errorf("flight %s: %w", address, err)
		}
		c.conns[address] = conn
	}
	return flight.NewFlightServiceClient(conn), nil
}

// info returns the columns, nil if the service does not tell them, and the endpoints.
func (c *flightCalls) info(ctx context.Context) (*arrow.Schema, []endpoint, error) {
	if c.spec.Ticket != "" {
		return nil, []endpoint{{ticket: &flight.Ticket{Ticket: []byte(c.spec.Ticket)}}}, nil
	}
	client, err := c.at(c.spec.Address)
	if err != nil {
		return nil, nil, err
	}
	asked := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: c.spec.Path}
	if c.spec.Command != "" {
		asked = &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte(c.spec.Command)}
	}
	call := c.begin(ctx)
	defer call.cancel(nil)
	var got *flight.FlightInfo
	if err = call.wait(func() error { got, err = client.GetFlightInfo(call.ctx, asked); return err }); err != nil {
		return nil, nil, c.explain(ctx, call, c.spec.what(), err)
	}
	endpoints := make([]endpoint, len(got.GetEndpoint()))
	for i, e := range got.GetEndpoint() {
		endpoints[i].ticket = e.GetTicket()
		for _, at := range e.GetLocation() {
			endpoints[i].places = append(endpoints[i].places, at.GetUri())
		}
	}
	if len(got.GetSchema()) == 0 {
		return nil, endpoints, nil
	}
	file, err := recordsOfMessages(textMessages(bytes.NewReader(got.GetSchema())), func() error { return nil })
	if err != nil {
		return nil, nil, fmt.Errorf("%s: the columns that the service says are damaged: %w", c.spec.what(), err)
	}
	return file.schema, endpoints, file.stop()
}

// name returns the name of an endpoint in messages.
func (c *flightCalls) name(endpoints []endpoint, i int) string {
	if c.spec.Ticket != "" {
		return c.spec.what()
	}
	return fmt.Sprintf("%s, endpoint %d of %d", c.spec.what(), i+1, len(endpoints))
}

// sameConnection is the place of rows that the asked service has itself.
const sameConnection = "arrow-flight-reuse-connection:"

// place returns the address of an endpoint.
func (c *flightCalls) place(e endpoint) (string, error) {
	if len(e.places) == 0 {
		return c.spec.Address, nil
	}
	for _, uri := range e.places {
		_, at, _ := strings.Cut(uri, "://")
		if at = strings.TrimSuffix(at, "/"); strings.HasPrefix(uri, sameConnection) {
			return c.spec.Address, nil
		}
		if at == c.spec.Address || slices.Contains(c.spec.Locations, at) {
			return at, nil
		}
	}
	return "", fmt.Errorf("its rows lie at %s: add the host:port to flight.locations where rows may come from there", shown(strings.Join(e.places, ", ")))
}

// open starts reading an endpoint. The stream ends with ctx, or when the records are stopped.
func (c *flightCalls) open(ctx context.Context, endpoints []endpoint, i int) (*recordFile, error) {
	name := c.name(endpoints, i)
	at, err := c.place(endpoints[i])
	if err != nil {
		return nil, &DataError{File: name, Err: err}
	}
	client, err := c.at(at)
	if err != nil {
		return nil, err
	}
	if at != c.spec.Address {
		name += " at " + at
	}
	call := c.begin(ctx)
	var stream flight.FlightService_DoGetClient
	if err = call.wait(func() error { stream, err = client.DoGet(call.ctx, endpoints[i].ticket); return err }); err != nil {
		defer call.cancel(nil)
		return nil, c.explain(ctx, call, name, err)
	}
	next := func() (meta, body []byte, err error) {
		err = call.wait(func() error {
			for len(meta) == 0 { // a message without a header is the service's own
				data, err := stream.Recv()
				if err != nil {
					return err
				}
				meta, body = data.DataHeader, data.DataBody
			}
			return nil
		})
		if err != nil && !eof(err) {
			err = c.explain(ctx, call, name, err)
		}
		return meta, body, err
	}
	file, err := recordsOfMessages(next, func() error { call.cancel(nil); return nil })
	if err != nil {
		call.cancel(nil)
		return nil, c.noRecords(ctx, name, err)
	}
	return withRows(told(file, name), name, call.limit), nil
}

// withRows fails if, for longer than limit, all records are without rows.
func withRows(file *recordFile, name string, limit time.Duration) *recordFile {
	next, since := file.next, time.Time{} // zero: the last record had rows
	file.next = func(ctx context.Context) (arrow.Record, error) {
		if since.IsZero() {
			since = time.Now()
		}
		rec, err := next(ctx)
		switch {
		case err != nil:
			return rec, err
		case rec.NumRows() > 0:
			since = time.Time{}
		case time.Since(since) > limit:
			rec.Release()
			return nil, &DataError{File: name, Err: fmt.Errorf("only record batches without rows for %v: see the log of the service, or raise flight.timeout_secs", limit)}
		}
		return rec, nil
	}
	return file
}

// noRecords returns the error of a stream that does not begin as a stream of records.
func (c *flightCalls) noRecords(ctx context.Context, name string, err error) error {
	told := new(DataError)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &told):
		return told
	case errors.Is(err, io.EOF):
		err = errors.New("it ends before its columns: check the ticket, and the log of the service")
	}
	return &DataError{File: name, Err: fmt.Errorf("this is no stream of record batches: %w", err)}
}

// flightCall is one call with its time limit.
type flightCall struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
}

// errSilent is the cause of a call that was cancelled because no answer came.
var errSilent = errors.New("no answer in time")

func (c *flightCalls) begin(ctx context.Context) *flightCall {
	ctx, cancel := context.WithCancelCause(ctx)
	return &flightCall{ctx, cancel, time.Duration(cmp.Or(c.spec.TimeoutSecs, flightTimeoutSecs) * float64(time.Second))}
}

// wait runs a part of the call. It cancels the call when the part takes too long.
func (c *flightCall) wait(part func() error) error {
	defer time.AfterFunc(c.limit, func() { c.cancel(errSilent) }).Stop()
	return part()
}

// explain returns the error of a failed call, with its likely reason.
func (c *flightCalls) explain(ctx context.Context, call *flightCall, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(call.ctx), errSilent) {
		return &DataError{File: name, Err: fmt.Errorf("no answer for %v: see the log of the service, or raise flight.timeout_secs", call.limit)}
	}
	text := printable.Short(printable.Text(c.secrets.hide(statustext.Of(err))), 500)
	return &DataError{File: name, Err: &explained{err, text + fixOf(status.Code(err), text)}}
}

// fixOf says what to do about a status code.
func fixOf(code codes.Code, text string) string {
	switch {
	case code == codes.ResourceExhausted && strings.Contains(text, "larger than max"):
		return ": raise flight.max_message_mb, or let the service send smaller record batches"
	case code == codes.Unavailable:
		return ": check flight.address, whether the service runs, and that both sides use TLS or both do not (flight.security)"
	case code == codes.Unauthenticated, code == codes.PermissionDenied:
		return ": check the headers (flight.headers_env or flight.headers_file)"
	case code == codes.NotFound, code == codes.InvalidArgument:
		return ": check flight.path, flight.command or flight.ticket"
	case code == codes.Unimplemented:
		return ": the service has no such call: check flight.address, or give flight.ticket"
	}
	return ": see the log of the service"
}
