package grpcapi

import (
	"context"
	"io"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/serving/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// incoming is what gRPC's transport has of a call's messages.
type incoming interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receiver receives the message of one call as gRPC does, but takes the memory for it first.
type receiver struct {
	from    incoming
	account *budget.Account
	wait    *admission.Wait
	most    int // bytes of a message
	held    int // bytes that are taken for what is received, until it is decoded
}

// firstPiece is how much of a message is asked for at first; then as much as has come, up to lastPiece. What a client
// announces is not believed further: calls that bring nothing hold next to no memory.
const (
	firstPiece = 16 << 10
	lastPiece  = 16 << 20
)

// receive reads the message into m.
func (r *receiver) receive(m proto.Message) error {
	data, compressed, err := r.message()
	if err == nil {
		err = r.end()
	}
	if err = r.wait.Done(err); err == nil && compressed {
		data, err = r.decompressed(data)
	}
	defer func() {
		data.Free()
		r.account.Release(r.held)
	}()
	if err != nil {
		return err
	}
	if err := r.account.Reserve(wire.Cost(data, m)); err != nil {
		return err
	}
	if err := (wire.Codec{}).Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// message returns the bytes of the message, and whether they are compressed.
func (r *receiver) message() (data mem.BufferSlice, compressed bool, err error) {
	var header [5]byte // whether it is compressed, and its size
	if err := r.from.ReadMessageHeader(header[:]); err != nil {
		return nil, false, received(err)
	}
	size := int64(header[1])<<24 | int64(header[2])<<16 | int64(header[3])<<8 | int64(header[4])
	if size > int64(r.most) {
		return nil, false, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, r.most)
	}
	compressed = header[0] != 0
	for got := 0; got < int(size); {
		n := min(int(size)-got, max(firstPiece, got), lastPiece)
		if err := r.take(n); err != nil {
			return data, compressed, err
		}
		piece, err := r.from.Read(n)
		if err != nil {
			return data, compressed, received(err)
		}
		data = append(data, piece...)
		got += n
		r.account.Received(n)
		r.wait.More()
	}
	return data, compressed, nil
}

// end sees to it that there is no other message.
func (r *receiver) end() error {
	var header [5]byte
	switch err := r.from.ReadMessageHeader(header[:]); err {
	case io.EOF:
		return nil
	case nil:
		return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
	default:
		return received(err)
	}
}

func (r *receiver) take(n int) error {
	if err := r.account.Reserve(n); err != nil {
		return err
	}
	r.held += n
	return nil
}

// The pieces in which a message is decompressed.
const (
	smallPiece = 32 << 10
	largePiece = 1 << 20
)

// decompressed returns the message that data is, and frees that.
func (r *receiver) decompressed(data mem.BufferSlice) (out mem.BufferSlice, err error) {
	packed := data.Len()
	defer func() {
		data.Free()
		r.account.Release(packed)
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
		if total += n; total > r.most {
			return out, status.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", r.most)
		}
		r.account.Received(min(n, max(total-packed, 0))) // the packed bytes have counted already
		out = append(out, piece[:n])
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
		}
	}
}

// fill is io.ReadFull that tells the end of r from a stream that was cut off.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	return n, err
}

// received is an error of the transport as the status of a call.
func received(err error) error {
	if err == io.EOF {
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	}
	if err == io.ErrUnexpectedEOF {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err // a status already
}

// receive reads the message of a call by the account. A panic is an error of the call, as it is where calls are answered.
func (l Limits) receive(ctx context.Context, method string, m any, a *budget.Account, ordinarily func(any) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(method, p)
			fault.Log(l.Log, err)
		}
	}()
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(incoming)
	into, isMessage := m.(proto.Message)
	if !ok || !isMessage {
		return ordinarily(m)
	}
	r := receiver{from: from, account: a, wait: admission.StartWait(ctx, l.Arrival), most: l.MaxMessage}
	return r.receive(into)
}

// marshal makes the reply of an answer, which then is what the account pays for.
func marshal(answer any, a *budget.Account) (any, error) {
	m, ok := answer.(proto.Message)
	if !ok {
		a.Close()
		return answer, nil
	}
	return wire.NewReply(m, a)
}
