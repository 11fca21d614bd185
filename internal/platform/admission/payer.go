package admission

import (
	"context"
	"io"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Payer receives the messages of a call as gRPC does, but reserves memory for them first.
type Payer struct {
	Account *budget.Account
	Most    int                                             // bytes of a message, also decompressed
	Arrival time.Duration                                   // for the next 16 MiB of a message, or its rest, to arrive; 0: unlimited
	Ending  context.Context                                 // ends when a server that shuts down stops waiting for messages; nil: never
	Codec   encoding.CodecV2                                // reads messages
	Stream  bool                                            // the message is one of several; the caller may take any time before it
	Cost    func(data mem.BufferSlice, m proto.Message) int // memory for a decoded message
}

// waitingCost is the memory of a call whose message has not arrived: its headers, of up to [MaxHeaders], its stream and its goroutine. A
// client that opens calls on many connections and sends no messages gets no more memory than others.
const waitingCost = 64 << 10

// MaxHeaders is the most bytes of the headers of a call or request. In memory they take up to four times as much, which is waitingCost.
// TensorFlow's servers refuse longer headers, too, as gRPC's C++ library does.
const MaxHeaders = 16 << 10

// Receiver is a transport that reserves memory for a call's message from the payer's account itself, as it receives the message.
type Receiver interface {
	Receive(m proto.Message, p Payer) error
}

// Receive reads the message of the call of ctx into m. It calls ordinarily if the transport does not give access to pieces, as in tests.
func (p Payer) Receive(ctx context.Context, m any, ordinarily func(any) error) error {
	stream := grpc.ServerTransportStreamFromContext(ctx)
	into, isMessage := m.(proto.Message)
	if from, ok := stream.(Receiver); ok && isMessage {
		return from.Receive(into, p)
	}
	from, ok := stream.(incoming)
	if !ok || !isMessage {
		return ordinarily(m)
	}
	if err := p.Account.Reserve(waitingCost); err != nil {
		return err
	}
	defer p.Account.Release(waitingCost)
	r := receiver{Payer: p, from: from, wait: new(Wait)}
	if p.Stream {
		r.late = func() { r.wait = StartWait(ctx, p.Arrival, p.Ending) }
	} else {
		r.wait = StartWait(ctx, p.Arrival, p.Ending)
	}
	return r.receive(into)
}

// receiver receives the message of a call.
type receiver struct {
	Payer
	from incoming
	wait *Wait
	late func() // starts the wait when a message has begun; nil: it has begun
	held int    // bytes reserved for received data until it is decoded
}

// firstPiece is how much of a message is read at first; after that, as much as has arrived, up to lastPiece. The announced size is not
// trusted: calls that send nothing hold almost no memory.
const (
	firstPiece = 16 << 10
	lastPiece  = 16 << 20
)

// receive reads the message into m.
func (r *receiver) receive(m proto.Message) error {
	data, compressed, err := r.message()
	if err == nil && !r.Stream {
		err = r.end()
	}
	if err = r.wait.Done(err); err == nil && compressed {
		data, err = r.decompressed(data)
	}
	defer func() {
		data.Free()
		r.Account.Release(r.held)
	}()
	if err != nil {
		return err
	}
	if err := r.Account.Reserve(r.Cost(data, m)); err != nil {
		return err
	}
	if err := r.Codec.Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// message returns the bytes of the message, and whether they are compressed.
func (r *receiver) message() (data mem.BufferSlice, compressed bool, err error) {
	var header [5]byte // a compression flag, and the size
	if err := r.from.ReadMessageHeader(header[:]); err == io.EOF && r.Stream {
		return nil, false, io.EOF
	} else if err != nil {
		return nil, false, transportFault(err)
	}
	if r.late != nil {
		r.late()
	}
	size := int64(header[1])<<24 | int64(header[2])<<16 | int64(header[3])<<8 | int64(header[4])
	if size > int64(r.Most) {
		return nil, false, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, r.Most)
	}
	compressed = header[0] != 0
	for got := 0; got < int(size); {
		n := min(int(size)-got, max(firstPiece, got), lastPiece)
		if err := r.take(n); err != nil {
			return data, compressed, err
		}
		piece, err := r.from.Read(n)
		if err != nil {
			return data, compressed, transportFault(err)
		}
		data = append(data, piece...)
		got += n
		r.Account.Received(n)
		r.wait.More()
	}
	return data, compressed, nil
}

// end checks that there is no other message.
func (r *receiver) end() error {
	var header [5]byte
	switch err := r.from.ReadMessageHeader(header[:]); err {
	case io.EOF:
		return nil
	case nil:
		return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
	default:
		return transportFault(err)
	}
}

func (r *receiver) take(n int) error {
	if err := r.Account.Reserve(n); err != nil {
		return err
	}
	r.held += n
	return nil
}

// The pieces for decompressing a message.
const (
	smallPiece = 32 << 10
	largePiece = 1 << 20
)

// decompressed returns the decompressed message and frees data.
func (r *receiver) decompressed(data mem.BufferSlice) (out mem.BufferSlice, err error) {
	packed := data.Len()
	defer func() {
		data.Free()
		r.Account.Release(packed)
		r.held -= packed
	}()
	how := r.from.RecvCompress()
	c := encoding.GetCompressor(how)
	if c == nil {
		return nil, status.Errorf(codes.Internal, "grpc: compressed flag set with grpc-encoding %q", how)
	}
	in := data.Reader()
	defer func() { _ = in.Close() }()
	z, err := c.Decompress(in)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	total := 0
	for size := smallPiece; ; size = min(2*size, largePiece) {
		if err := r.take(size); err != nil {
			return out, err
		}
		piece := make(mem.SliceBuffer, size)
		n, err := fill(z, piece)
		if total += n; total > r.Most {
			return out, status.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", r.Most)
		}
		r.Account.Received(min(n, max(total-packed, 0))) // the packed bytes are already counted
		r.Account.Unpacked(packed)
		out = append(out, piece[:n])
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
		}
	}
}

// fill is io.ReadFull that distinguishes the end of r from a stream that was cut off.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	return n, err
}

// transportFault turns an error of the transport into the status of a call.
func transportFault(err error) error {
	if err == io.EOF {
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	}
	if err == io.ErrUnexpectedEOF {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // already a status
}
