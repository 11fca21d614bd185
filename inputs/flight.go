package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// FlightSpec describes a request to an Arrow Flight service.
type FlightSpec struct {
	// host:port of the service.
	Address string `yaml:"address,omitempty"`
	// Path of the data set, one entry per part. Set one of path, command and ticket.
	Path []string `yaml:"path,omitempty"`
	// A command that the service understands, for example a query. The service is asked once for the columns and again in each pass.
	Command string `yaml:"command,omitempty"`
	// Ticket of one stream of rows. It is opened once for the columns and again in each pass.
	Ticket string `yaml:"ticket,omitempty"`
	// Other addresses (host:port) from which rows may come, if the service names them. Each is sent the headers.
	Locations []string `yaml:"locations,omitempty"`
	// auto: TLS if ca_file or cert_file is set, otherwise plaintext. tls: always TLS, with the system's certificates if ca_file is not set. Default: auto.
	Security string `yaml:"security,omitempty"`
	// PEM file of the CA certificates; one of them must have signed the service's certificate.
	CAFile string `yaml:"ca_file,omitempty"`
	// PEM file of the client's certificate (mutual TLS).
	CertFile string `yaml:"cert_file,omitempty"`
	// PEM file of the private key of cert_file.
	KeyFile string `yaml:"key_file,omitempty"`
	// Name that the service's certificate must have. Empty: its host.
	ServerName string `yaml:"server_name,omitempty"`
	// Environment variable with the headers of each call, one per line, such as authorization: Bearer TOKEN.
	HeadersEnv string `yaml:"headers_env,omitempty"`
	// File with the headers, in place of headers_env.
	HeadersFile string `yaml:"headers_file,omitempty"`
	// Send the headers also without TLS.
	PlainHeaders bool `yaml:"plain_headers,omitempty"`
	// Largest message in MiB. A record batch is one message. 0: 256.
	MaxMessageMB int `yaml:"max_message_mb,omitempty"`
	// Seconds without an answer after which reading fails, at most 1000000. 0: 600.
	TimeoutSecs float64 `yaml:"timeout_secs,omitempty"`
}

// FromFlight returns the rows of an Arrow Flight service, endpoint by endpoint. It asks the service once for the columns, and
// again in each pass. Columns in o choose among the service's columns and set role, type, default and vocabulary, as for files.
//
// A service need not return the same rows again: o.Resume says what a restored position means.
func FromFlight(ctx context.Context, spec FlightSpec, o StreamOptions) (Dataset, error) {
	vs := &violation.List{}
	spec.validate(vs)
	if err := errors.Join(vs.Err(), o.Resume.validate()); err != nil {
		return nil, err
	}
	return openFlight(ctx, spec, o, fileShare{})
}

func (s Spec) validateFlight(vs *violation.List) {
	if s.Format != "flight" {
		vs.Require(reflect.ValueOf(s.Flight).IsZero(), "flight", s.Flight.Address, "expected none: it is for format flight")
		return
	}
	vs.Require(len(s.Files) == 0, "files", s.Files, "expected none: format flight asks a service")
	s.Flight.validate(vs)
}

func (f FlightSpec) validate(vs *violation.List) {
	vs.Require(isHostPort(f.Address), "flight.address", f.Address, "expected host:port of the service; TLS is flight.security")
	for i, at := range f.Locations {
		vs.Require(isHostPort(at), "flight.locations["+strconv.Itoa(i)+"]", at, "expected host:port")
	}
	given := 0
	for _, is := range []bool{len(f.Path) > 0, f.Command != "", f.Ticket != ""} {
		if is {
			given++
		}
	}
	vs.Require(given == 1, "flight.path", f.Path, "expected one of path, command and ticket")
	vs.OneOf("flight.security", f.Security, "", "auto", "tls")
	vs.Require((f.CertFile == "") == (f.KeyFile == ""), "flight.cert_file", f.CertFile, "expected together with flight.key_file")
	vs.Require(f.HeadersEnv == "" || f.HeadersFile == "", "flight.headers_file", f.HeadersFile, "expected none beside flight.headers_env: give one of them")
	headers := f.HeadersEnv + f.HeadersFile
	vs.Require(headers == "" || f.tls() || f.PlainHeaders, "flight.headers_env", headers, "expected TLS (flight.security or flight.ca_file): headers would go over plain text; set flight.plain_headers where nobody listens")
	vs.Require(f.MaxMessageMB >= 0 && f.MaxMessageMB < 2048, "flight.max_message_mb", f.MaxMessageMB, "expected 1 to 2047, or 0 for 256")
	vs.Require(f.TimeoutSecs >= 0 && f.TimeoutSecs <= maxFlightTimeoutSecs, "flight.timeout_secs", f.TimeoutSecs, "expected > 0 and at most 1000000, or 0 for 600")
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && host != ""
}

// tls reports whether calls are encrypted.
func (f FlightSpec) tls() bool { return f.Security == "tls" || f.CAFile != "" || f.CertFile != "" }

// what names the source of the rows in messages.
func (f FlightSpec) what() string {
	switch {
	case f.Command != "":
		return fmt.Sprintf("flight %s, command %s", f.Address, shown(f.Command))
	case f.Ticket != "":
		return fmt.Sprintf("flight %s, a ticket", f.Address)
	}
	return fmt.Sprintf("flight %s, path %q", f.Address, f.Path)
}

// identity distinguishes the rows of a share from others.
func (f FlightSpec) identity(share fileShare) string {
	return fmt.Sprintf("flight %s, path %q, command %q, ticket %q, share %d of %d", f.Address, f.Path, f.Command, f.Ticket, share.index, share.count)
}

// flight returns the data set of format flight, and whether the workers must share its rows.
func (s Spec) flight(ctx context.Context, ic Context) (Dataset, bool, error) {
	o := StreamOptions{Resume: Resume(s.Resume), ArrowOptions: ArrowOptions{Columns: s.Columns, Unlabeled: ic.unlabeled(), Damaged: s.damaged(ic), Allocator: ic.Allocator}}
	share := fileShare{}
	if ic.NumPipelines > 1 && (s.Shard == "auto" || s.Shard == "files") {
		share = fileShare{ic.Pipeline, ic.NumPipelines}
	}
	ds, err := openFlight(ctx, s.Flight, o, share)
	return ds, s.Shard == "rows", err
}

// openFlight asks for the columns, and returns the rows of a share of the endpoints.
func openFlight(ctx context.Context, f FlightSpec, o StreamOptions, share fileShare) (Dataset, error) {
	schema, endpoints, err := f.schema(ctx)
	if err != nil {
		return nil, err
	}
	if endpoints < share.count {
		return nil, fmt.Errorf("%s has %d endpoints for %d workers: set shard: rows, where each asks for all rows and keeps its share, or off", f.what(), endpoints, share.count)
	}
	c, err := newConformer(schema, o.ArrowOptions)
	if err != nil {
		return nil, &DataError{File: f.what(), Err: err}
	}
	n := &node{schema: c.schema, mem: c.mem, label: "flight"}
	return liveNode(n, f.what(), o.Resume, func(ctx context.Context) (rowReader, error) {
		ctx, cancel := context.WithCancel(ctx)
		r := &streamReader{ctx: ctx, what: f.what(), damaged: o.Damaged, open: func() (rowReader, error) {
			return newFlightReader(ctx, f, o.ArrowOptions, c.schema, share)
		}}
		return flightRows{r, cancel}, nil
	}), nil
}

// flightRows ends a read in the background when it is closed.
type flightRows struct {
	*streamReader
	cancel context.CancelFunc
}

func (r flightRows) close() error {
	r.cancel()
	return r.streamReader.close()
}

// schema returns the service's columns and the number of endpoints.
func (f FlightSpec) schema(ctx context.Context) (*arrow.Schema, int, error) {
	calls, err := f.calls()
	if err != nil {
		return nil, 0, err
	}
	defer calls.close()
	schema, endpoints, err := calls.info(ctx)
	if err != nil || schema != nil {
		return schema, len(endpoints), err
	}
	if len(endpoints) == 0 {
		return nil, 0, fmt.Errorf("%w: %s has no endpoint, and does not say its columns", ErrEmpty, f.what())
	}
	file, err := calls.open(ctx, endpoints, 0)
	if err != nil {
		return nil, 0, err
	}
	return file.schema, len(endpoints), file.stop()
}

// flightReader reads the rows of endpoints.
type flightReader struct {
	calls     *flightCalls
	endpoints []endpoint
	mine      []int
	options   ArrowOptions
	schema    *Schema
	pass      livePass      // counts rows over all endpoints
	cur       *recordReader // nil: none is open
}

func newFlightReader(ctx context.Context, f FlightSpec, o ArrowOptions, schema *Schema, share fileShare) (rowReader, error) {
	calls, err := f.calls()
	if err != nil {
		return nil, err
	}
	_, endpoints, err := calls.info(ctx)
	if err != nil {
		return nil, errors.Join(err, calls.close())
	}
	r := &flightReader{calls: calls, endpoints: endpoints, options: o, schema: schema, pass: livePass{source: f.identity(share)}}
	for i := share.index; i < len(endpoints); i += max(share.count, 1) {
		r.mine = append(r.mine, i)
	}
	return r, nil
}

func (r *flightReader) read(ctx context.Context, limit int) (arrow.Record, error) {
	for len(r.mine) > 0 {
		if err := r.ensure(ctx); err != nil {
			return nil, err
		}
		rec, err := r.cur.read(ctx, limit)
		if !eof(err) {
			return rec, err
		}
		if err := r.closeEndpoint(); err != nil {
			return nil, err
		}
		r.mine = r.mine[1:]
	}
	return nil, io.EOF
}

// ensure opens the current endpoint.
func (r *flightReader) ensure(ctx context.Context) (err error) {
	if r.cur != nil {
		return nil
	}
	name := r.calls.name(r.endpoints, r.mine[0])
	r.cur, err = newRecordReader(name, r.options, r.schema, func() (*recordFile, error) { return r.calls.open(ctx, r.endpoints, r.mine[0]) })
	if err == nil {
		r.cur.pass = &r.pass
	}
	return err
}

func (r *flightReader) skip(ctx context.Context, n int64) error { return readPast(ctx, r, n) }

func (r *flightReader) closeEndpoint() error {
	if r.cur == nil {
		return nil
	}
	cur := r.cur
	r.cur = nil
	return cur.close()
}

func (r *flightReader) close() error { return errors.Join(r.closeEndpoint(), r.calls.close()) }
