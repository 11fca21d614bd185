package inputs

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/flight"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// pairs is a Flight service whose endpoints have the batches of the command: "7 8/9" asks for two endpoints, with rows 7 and 8, and 9.
type pairs struct {
	flight.BaseFlightServer
	silent  bool                                                       // it does not tell its columns
	places  []string                                                   // of all endpoints
	info    func(ctx context.Context) error                            // before an answer; nil: nothing
	streams func(stream flight.FlightService_DoGetServer) error        // replaces the rows; nil: sends the rows
	schema  *arrow.Schema                                              // told to clients; nil: the schema of the rows
	wrote   func(w *flight.Writer, s flight.FlightService_DoGetServer) // after the rows; nil: nothing
}

func (p *pairs) GetFlightInfo(ctx context.Context, asked *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if p.info != nil {
		if err := p.info(ctx); err != nil {
			return nil, err
		}
	}
	text := string(asked.GetCmd())
	if len(asked.GetPath()) > 0 {
		text = strings.Join(asked.GetPath(), "/")
	}
	info := &flight.FlightInfo{}
	if !p.silent {
		s := pairSchema
		if p.schema != nil {
			s = p.schema
		}
		info.Schema = flight.SerializeSchema(s, memory.NewGoAllocator())
	}
	for _, rows := range strings.Split(text, "/") {
		e := &flight.FlightEndpoint{Ticket: &flight.Ticket{Ticket: []byte(rows)}}
		for _, at := range p.places {
			e.Location = append(e.Location, &flight.Location{Uri: at})
		}
		info.Endpoint = append(info.Endpoint, e)
	}
	return info, nil
}

func (p *pairs) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	if p.streams != nil {
		return p.streams(stream)
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(pairSchema))
	defer w.Close()
	for _, word := range strings.Fields(string(ticket.GetTicket())) {
		var id int64
		if _, err := fmt.Sscan(word, &id); err != nil {
			return status.Errorf(codes.InvalidArgument, "no rows %q", word)
		}
		rec := pairRecord(id)
		defer rec.Release()
		if err := w.Write(rec); err != nil {
			return err
		}
	}
	if p.wrote != nil {
		p.wrote(w, stream)
	}
	return nil
}

// serve answers on the loopback interface until the test ends.
func (p *pairs) serve(t testing.TB, options ...grpc.ServerOption) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	flight.RegisterFlightServiceServer(s, p)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// flightSpec returns a spec that asks a service for rows.
func flightSpec(address, command string) Spec {
	s := DefaultSpec()
	s.Format, s.BatchSize = "flight", 2
	s.Flight = FlightSpec{Address: address, Command: command}
	s.Columns = []ColumnSpec{{Name: "x"}, {Name: "id", Role: Label}}
	return s
}

func openFlightSpec(t *testing.T, s Spec) Dataset {
	t.Helper()
	ds, err := Open(t.Context(), s, Context{Mode: Train, Allocator: checked(t)})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestFlight(t *testing.T) {
	byPath, byTicket := flightSpec("", ""), flightSpec("", "")
	byPath.Flight.Path, byTicket.Flight.Ticket = []string{"7 8", "9"}, "7 8 9"
	for name, c := range map[string]struct {
		service *pairs
		spec    Spec
	}{
		"command": {&pairs{}, flightSpec("", "7 8/9")}, "path": {&pairs{}, byPath}, "ticket": {&pairs{}, byTicket}, "columns of the stream": {&pairs{silent: true}, flightSpec("", "7 8/9")},
		"an empty endpoint": {&pairs{}, flightSpec("", "/7/ /8 9")}, "the same connection": {&pairs{places: []string{"grpc://elsewhere:1", "arrow-flight-reuse-connection://?"}}, flightSpec("", "7 8/9")},
	} {
		c.spec.Flight.Address = c.service.serve(t)
		ds := openFlightSpec(t, c.spec)
		for range 2 { // each pass asks again
			if d := cmp.Diff([][]int64{{7, 8}, {9}}, ids(t, ds)); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
	}
}

// TestFlightOfGo: the call of Go programs reads all columns in the service's types.
func TestFlightOfGo(t *testing.T) {
	ds, err := FromFlight(t.Context(), FlightSpec{Address: (&pairs{}).serve(t), Command: "7"}, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ds.Schema().String(); got != "x float32 feature, id int64 feature" {
		t.Errorf("got %s", got)
	}
	if _, err := FromFlight(t.Context(), FlightSpec{}, StreamOptions{}); err == nil || !strings.Contains(err.Error(), "flight.address") {
		t.Errorf("no address: got %v", err)
	}
}

func TestFlightLocations(t *testing.T) {
	rows := &pairs{}
	other := rows.serve(t)
	s := flightSpec((&pairs{places: []string{"grpc+tcp://" + other}, streams: func(flight.FlightService_DoGetServer) error { return errBroken }}).serve(t), "7/8")
	if err := readAll(s, Context{Mode: Train}); err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "flight.locations") {
		t.Errorf("another place: got %v", err)
	}
	s.Flight.Locations = []string{other}
	if d := cmp.Diff([]int64{7, 8}, flat(ids(t, openFlightSpec(t, s)))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestFlightShares: workers share the endpoints or, if the config says so, the rows.
func TestFlightShares(t *testing.T) {
	s := flightSpec((&pairs{}).serve(t), "1 2/3/4 5")
	for shard, want := range map[string][]int64{"auto": {3}, "files": {3}, "rows": {2, 4}, "off": {1, 2, 3, 4, 5}} {
		s.Shard = shard
		ds, err := Open(t.Context(), s, Context{Mode: Train, Pipeline: 1, NumPipelines: 2})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, flat(ids(t, ds))); d != "" {
			t.Errorf("%s (-want +got):\n%s", shard, d)
		}
	}
	s.Shard = "auto"
	if _, err := Open(t.Context(), s, Context{NumPipelines: 4}); err == nil || !strings.Contains(err.Error(), "3 endpoints for 4 workers: set shard: rows") {
		t.Errorf("too many workers: got %v", err)
	}
}

func TestFlightResumes(t *testing.T) {
	s := flightSpec((&pairs{}).serve(t), "1 2/3 4 5")
	open := func(resume string) Iterator {
		s.Resume = resume
		return iterate(t, openFlightSpec(t, s))
	}
	it := open("")
	takeOne(t, it)
	state, err := it.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := open("").Restore(state); !errors.Is(err, ErrNoResume) {
		t.Errorf("error: got %v", err)
	}
	for resume, want := range map[string]string{"skip": "[3 4]", "restart": "[1 2]"} {
		it := open(resume)
		if err := it.Restore(state); err != nil {
			t.Fatal(err)
		}
		rec, err := it.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Column(1).String(); got != want {
			t.Errorf("%s: got %s, expected %s", resume, got, want)
		}
		rec.Release()
	}
}

// TestFlightSecrets: headers come from the environment or a file and are sent over TLS, and no error shows them.
func TestFlightSecrets(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	ca := write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))
	refuse := false
	service := &pairs{info: func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		got := strings.Join(md.Get("authorization"), ",")
		if got != "Bearer geheim-1234" || refuse {
			return status.Errorf(codes.Unauthenticated, "bad token geheim-1234 in %q", got)
		}
		return nil
	}}
	s := flightSpec(service.serve(t, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0]))), "7")
	s.Flight.CAFile, s.Flight.HeadersEnv = ca, "TEST_FLIGHT"
	t.Setenv("TEST_FLIGHT", "Authorization: Bearer geheim-1234\n\nx-tenant: a")
	if d := cmp.Diff([]int64{7}, flat(ids(t, openFlightSpec(t, s)))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	refuse = true
	if err := readAll(s, Context{}); err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "bad token $TEST_FLIGHT") || !strings.Contains(err.Error(), "flight.headers_env") {
		t.Errorf("got %v", err)
	}
	refuse = false
	plain := flightSpec((&pairs{info: service.info}).serve(t), "7")
	plain.Flight.HeadersEnv, plain.Flight.PlainHeaders = "TEST_FLIGHT", true
	if d := cmp.Diff([]int64{7}, flat(ids(t, openFlightSpec(t, plain)))); d != "" {
		t.Errorf("plain text (-want +got):\n%s", d)
	}
	s.Flight.HeadersEnv, s.Flight.HeadersFile = "", write(t, "headers", []byte("authorization: Bearer geheim-1234\n"))
	if d := cmp.Diff([]int64{7}, flat(ids(t, openFlightSpec(t, s)))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for text, want := range map[string]string{"geheim": "line 1 of ", "a: b\nsp ace: geheim": "line 2 of ", "grpc-x: geheim": "gRPC's own", "x: gehe\x01im": "beyond ASCII"} {
		s.Flight.HeadersFile = write(t, "headers", []byte(text))
		if err := readAll(s, Context{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	s.Flight.HeadersFile, s.Flight.CAFile = "", ""
	if err := readAll(s, Context{}); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("plaintext to TLS: got %v", err)
	}
	s.Flight.Security = "tls"
	if err := readAll(s, Context{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: got %v", err)
	}
}

// sent returns a function that sends messages instead of rows.
func sent(messages ...*flight.FlightData) func(flight.FlightService_DoGetServer) error {
	return func(s flight.FlightService_DoGetServer) error {
		for _, m := range messages {
			if err := s.Send(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestFlightHostile: a service that sends anything but rows is an error that names the service, the endpoint, the fault and a remedy.
func TestFlightHostile(t *testing.T) {
	wide := arrow.NewSchema(append(slices.Clone(pairSchema.Fields()), arrow.Field{Name: "z", Type: arrow.PrimitiveTypes.Int8}), nil)
	again := func(w *flight.Writer, s flight.FlightService_DoGetServer) {
		_ = flight.NewRecordWriter(s, ipc.WithSchema(wide)).Close()
	}
	large := func(_ *flight.Writer, s flight.FlightService_DoGetServer) {
		_ = s.Send(&flight.FlightData{DataBody: make([]byte, 2<<20)})
	}
	text := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.BinaryTypes.String}, {Name: "id", Type: arrow.BinaryTypes.String}}, nil)
	when := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.FixedWidthTypes.Date32}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for name, c := range map[string]struct {
		service *pairs
		command string
		want    []string
	}{
		"schema changes":  {&pairs{wrote: again}, "7/8", []string{"endpoint 1 of 2", "its schema changes in the middle"}},
		"large message":   {&pairs{wrote: large}, "7", []string{"endpoint 1 of 1", "flight.max_message_mb"}},
		"other types":     {&pairs{schema: text}, "7", []string{"endpoint 1 of 1", "it has the columns x float32"}},
		"type":            {&pairs{schema: when}, "7", []string{`"x"`, "date32"}},
		"null":            {&pairs{}, "7/8 -9", []string{"endpoint 2 of 2", `column "x"`, "row 2", "value is null", "default"}},
		"refused rows":    {&pairs{}, "7/x", []string{"endpoint 2 of 2", `no rows "x"`, "flight.ticket"}},
		"no rows":         {&pairs{}, "", []string{"data set is empty"}},
		"garbage":         {&pairs{streams: sent(&flight.FlightData{DataHeader: bytes.Repeat([]byte{255}, 64)})}, "7", []string{"endpoint 1 of 1", "no stream of record batches"}},
		"short metadata":  {&pairs{streams: sent(&flight.FlightData{DataHeader: []byte{1}})}, "7", []string{"no stream of record batches"}},
		"nothing":         {&pairs{streams: sent()}, "7", []string{"ends before its columns"}},
		"failure":         {&pairs{info: func(context.Context) error { return status.Error(codes.Internal, strings.Repeat("x\x1b", 9000)) }}, "7", []string{`x\x1bx`, "...", "log of the service"}},
		"not implemented": {&pairs{info: func(context.Context) error { return status.Error(codes.Unimplemented, "no") }}, "7", []string{"no such call"}},
	} {
		s := flightSpec(c.service.serve(t), c.command)
		s.Flight.MaxMessageMB = 1
		if c.command == "" {
			s.Flight.Ticket = " "
		}
		err := readAll(s, Context{Mode: Train, Allocator: checked(t)})
		for _, want := range append(c.want, s.Flight.Address) {
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
				t.Errorf("%s: got %v, expected %q", name, err, want)
			}
		}
	}
	port, err := freeport.Reserve(1)
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	gone := flightSpec(port.Address(0), "7")
	if err := readAll(gone, Context{}); err == nil || !strings.Contains(err.Error(), "flight "+port.Address(0)) || !strings.Contains(err.Error(), "whether the service runs") {
		t.Errorf("no service: got %v", err)
	}
}

// TestFlightSkips: rows that cannot be read are left out and counted.
func TestFlightSkips(t *testing.T) {
	s := flightSpec((&pairs{}).serve(t), "7 -8/-9 10")
	s.OnError = "skip"
	count := silent()
	ds, err := Open(t.Context(), s, Context{Mode: Train, Damaged: count})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := flat(ids(t, ds)); count.Count() != 2 || cmp.Diff([]int64{7, 10}, got) != "" {
			t.Errorf("%d rows left out, the others %v", count.Count(), got)
		}
	}
}

// TestFlightWaits: waiting for a silent service ends with the context, and after the time in the config.
func TestFlightWaits(t *testing.T) {
	asked := make(chan struct{}, 9)
	hang := func(ctx context.Context) error { asked <- struct{}{}; <-ctx.Done(); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := Open(ctx, flightSpec((&pairs{info: hang}).serve(t), "7"), Context{}); !errors.Is(err, context.Canceled) {
		t.Errorf("columns: got %v", err)
	}
	service := &pairs{wrote: func(_ *flight.Writer, s flight.FlightService_DoGetServer) { _ = hang(s.Context()) }}
	s := flightSpec(service.serve(t), "7")
	s.BatchSize, s.Prefetch = 1, 0
	it := iterate(t, openFlightSpec(t, s))
	takeOne(t, it)
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := it.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("rows: got %v", err)
	}
	s.Flight.TimeoutSecs = 0.05
	if err := readAll(s, Context{}); err == nil || !strings.Contains(err.Error(), "flight.timeout_secs") {
		t.Errorf("in silence: got %v", err)
	}
	for name, send := range map[string]func(*flight.Writer, flight.FlightService_DoGetServer) error{
		"messages of its own": func(_ *flight.Writer, s flight.FlightService_DoGetServer) error {
			return s.Send(&flight.FlightData{AppMetadata: []byte("x")})
		},
		"batches without rows": func(w *flight.Writer, _ flight.FlightService_DoGetServer) error {
			return w.Write(pairRecord(1).NewSlice(0, 0))
		},
	} {
		service := &pairs{wrote: func(w *flight.Writer, s flight.FlightService_DoGetServer) {
			for send(w, s) == nil {
			}
		}}
		s := flightSpec(service.serve(t), "7")
		s.Flight.TimeoutSecs = 0.05
		if err := readAll(s, Context{}); err == nil || !strings.Contains(err.Error(), "flight.timeout_secs") {
			t.Errorf("%s without end: got %v", name, err)
		}
	}
}

func TestFlightSpecs(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"flight.address":       func(s *Spec) { s.Flight.Address = "grpc://h:1" },
		"flight.locations[1]":  func(s *Spec) { s.Flight.Locations = []string{"h:1", "h"} },
		"flight.path":          func(s *Spec) { s.Flight.Ticket = "t" },
		"flight.security":      func(s *Spec) { s.Flight.Security = "none" },
		"flight.cert_file":     func(s *Spec) { s.Flight.CertFile = "c" },
		"flight.plain_headers": func(s *Spec) { s.Flight.HeadersEnv = "H" },
		"flight.headers_file":  func(s *Spec) { s.Flight.HeadersEnv, s.Flight.HeadersFile, s.Flight.Security = "H", "f", "tls" },
		"flight.max_message":   func(s *Spec) { s.Flight.MaxMessageMB = 2048 },
		"flight.timeout_secs":  func(s *Spec) { s.Flight.TimeoutSecs = -1 },
		"files":                func(s *Spec) { s.Files = []string{"a"} },
		"is for format flight": func(s *Spec) { s.Format, s.Files = "arrow", []string{"a"} },
		"at most 1000000":      func(s *Spec) { s.Flight.TimeoutSecs = 1e6 + 1 },
		"expected > 0 and at":  func(s *Spec) { s.Flight.TimeoutSecs = math.NaN() },
		"127.0.0.1:1":          func(s *Spec) { s.Flight.TimeoutSecs = 1e6 },
	} {
		s := flightSpec("127.0.0.1:1", "7")
		change(&s)
		if _, err := Open(t.Context(), s, Context{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
