package inputs_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/flight"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"google.golang.org/grpc"

	"github.com/goestimator/goestimator/inputs"
)

// primes is a Flight service that has one stream.
type primes struct{ flight.BaseFlightServer }

func (*primes) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "prime", Type: arrow.PrimitiveTypes.Int64}}, nil))
	defer b.Release()
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{2, 3, 5}, nil)
	rec := b.NewRecord()
	defer rec.Release()
	w := flight.NewRecordWriter(stream, ipc.WithSchema(rec.Schema()))
	defer w.Close()
	return w.Write(rec)
}

// Rows of an Arrow Flight service.
func ExampleFromFlight() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	flight.RegisterFlightServiceServer(server, &primes{})
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	ds, err := inputs.FromFlight(context.Background(), inputs.FlightSpec{Address: l.Addr().String(), Ticket: "primes"}, inputs.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	it, err := inputs.Batch(2, false)(ds).Iterate(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	rec, err := it.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Release()
	fmt.Println(ds.Schema(), rec.Column(0))
	// Output: prime int64 feature [2 3]
}
