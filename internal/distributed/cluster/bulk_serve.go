package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/wire"
)

const (
	bulkService = "goestimator.Bulk"
	bulkOpen    = "/" + bulkService + "/Open"
	// bulkKey is the metadata of a stream whose frames go over a bulk connection: its
	// ticket in hexadecimal. In the trailer it means that the connection's last record
	// was sent.
	bulkKey = "goestimator-bulk"
	// bulkTimeout bounds the time from the ticket to the connection's first stream.
	bulkTimeout = 10 * time.Second
	// bulkLimit is how many bulk connections a gRPC connection may have.
	bulkLimit = 64
)

// bulkMagic starts a bulk connection, where gRPC starts with a greeting. Its last
// byte is the version of the protocol.
var bulkMagic = [4]byte{'G', 'E', 'B', wireVersion}

// ticket names a bulk connection, and is known only to its two ends.
type ticket [16]byte

func (t ticket) String() string { return hex.EncodeToString(t[:]) }

func parseTicket(s string) (t ticket, ok bool) {
	b, err := hex.DecodeString(s)
	return ticket(append(b, t[:]...)), err == nil && len(b) == len(t)
}

// bulkHello starts a bulk connection: magic, ticket, and the checksum of both.
type bulkHello [len(bulkMagic) + len(ticket{}) + 4]byte

func helloOf(t ticket) (h bulkHello) {
	copy(h[copy(h[:], bulkMagic[:]):], t[:])
	binary.LittleEndian.PutUint32(h[len(h)-4:], checksum(h[:len(h)-4]))
	return h
}

// bulkTaken is the answer: the magic and its checksum.
var bulkTaken = [8]byte(binary.LittleEndian.AppendUint32(bulkMagic[:], checksum(bulkMagic[:])))

// bulkServer keeps the bulk connections that peers have made to a node. A peer asks for
// a ticket by gRPC, which authenticates it, and sends it on a new connection to the same
// address.
type bulkServer struct {
	limit int // of messages

	mu    sync.Mutex
	slots map[ticket]*bulkSlot
}

// bulkSlot is the place of one connection.
type bulkSlot struct {
	server  *bulkServer
	ticket  ticket
	carrier *watchedConn // the gRPC connection that delivered the ticket: it closes this one with it
	issued  time.Time
	conn    *bulkConn     // nil until the peer has sent the ticket
	idle    chan struct{} // holds a token while it serves no stream
	gone    chan struct{} // closed when the connection is
	fresh   bool          // it has not served a stream yet

	closing sync.Once
}

func newBulkServer(limit int) *bulkServer {
	return &bulkServer{limit: limit, slots: map[ticket]*bulkSlot{}}
}

func (s *bulkServer) service() Service {
	return Service{Name: bulkService, Unary: map[string]Handler{"Open": s.open}}
}

// open answers with a ticket.
func (s *bulkServer) open(ctx context.Context, _ *Frame) (*Frame, error) {
	p, _ := grpcpeer.FromContext(ctx)
	carrier := connOf(p)
	if carrier == nil {
		return nil, status.Error(codes.Unimplemented, "bulk connections need a gRPC connection to belong to")
	}
	slot := &bulkSlot{server: s, carrier: carrier, issued: time.Now(), idle: make(chan struct{}, 1), gone: make(chan struct{})}
	if _, err := rand.Read(slot.ticket[:]); err != nil {
		return nil, err
	}
	if !s.enter(slot) {
		s.prune(carrier)
		if err := ctx.Err(); err != nil { // the caller has left: the ticket would keep its place for bulkTimeout
			return nil, status.FromContextError(err).Err()
		}
		if !s.enter(slot) {
			return nil, status.Errorf(codes.ResourceExhausted, "the caller has %d bulk connections already", bulkLimit)
		}
	}
	return &Frame{Header: wire.Encode(&wire.BulkTicket{Ticket: slot.ticket[:]})}, nil
}

// enter registers a slot's ticket, unless the carrier has too many.
func (s *bulkServer) enter(slot *bulkSlot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := 0
	for t, other := range s.slots {
		if other.conn == nil && time.Since(other.issued) > bulkTimeout {
			delete(s.slots, t)
		} else if other.carrier == slot.carrier {
			mine++
		}
	}
	if mine >= bulkLimit {
		return false
	}
	s.slots[slot.ticket] = slot
	return true
}

// prune closes a carrier's idle connections that the peer has closed. Nothing reads from
// them, so that would go unnoticed.
func (s *bulkServer) prune(carrier *watchedConn) {
	s.mu.Lock()
	slots := slices.Collect(maps.Values(s.slots))
	s.mu.Unlock()
	for _, l := range slots {
		if l.carrier != carrier {
			continue
		}
		select {
		case <-l.idle:
		default:
			continue
		}
		l.conn.conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := l.conn.in.Peek(1)
		l.conn.conn.SetReadDeadline(time.Time{})
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			l.conn.broken.Store(true)
		}
		l.free()
	}
}

var errTicket = errors.New("a bulk connection without a ticket that was given: it came too late, or from a stranger")

// accept accepts a connection that has sent the magic, if it also sends a ticket; sums
// says that it has checksums. The caller has set a deadline.
func (s *bulkServer) accept(c net.Conn, sums bool) error {
	var rest [len(bulkHello{}) - len(bulkMagic)]byte
	if _, err := io.ReadFull(c, rest[:]); err != nil {
		return fmt.Errorf("a bulk connection: %w", err)
	}
	t := ticket(rest[:])
	if helloOf(t) != bulkHello(append(bulkMagic[:], rest[:]...)) {
		dismiss(c, make([]byte, len(bulkTaken))) // so that the caller notices
		return fmt.Errorf("a bulk connection: %w: the checksum of its ticket is wrong", ErrDamaged)
	}
	s.mu.Lock()
	slot := s.slots[t]
	if slot == nil || slot.conn != nil || time.Since(slot.issued) > bulkTimeout {
		s.mu.Unlock()
		return errTicket
	}
	slot.conn, slot.fresh = newBulkConn(c, slot.carrier, t, s.limit, sums), true
	s.mu.Unlock()
	if !slot.carrier.adopt(slot) {
		slot.Close()
		return net.ErrClosed
	}
	slot.idle <- struct{}{}
	admission.ConnPlace(c).Keep()
	if _, err := c.Write(bulkTaken[:]); err != nil {
		slot.Close()
		return err
	}
	return nil
}

// bind returns the connection for a stream's frames, or nil if they go by gRPC.
func (s *bulkServer) bind(ctx context.Context) (*bulkSlot, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	name := first(md, bulkKey)
	if name == "" {
		return nil, nil
	}
	p, _ := grpcpeer.FromContext(ctx)
	t, _ := parseTicket(name)
	s.mu.Lock()
	slot := s.slots[t]
	s.mu.Unlock()
	gone := status.Error(codes.Unavailable, "the stream's bulk connection is gone")
	if slot == nil || slot.carrier != connOf(p) {
		return nil, gone
	}
	select {
	case <-slot.idle: // soon, if the previous stream has just ended
		return slot, nil
	case <-slot.gone:
		return nil, gone
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// free lets the connection serve another stream, or closes it if that is not possible.
func (l *bulkSlot) free() {
	if l.conn.broken.Load() {
		l.Close()
		return
	}
	l.idle <- struct{}{}
}

// Close ends the connection.
func (l *bulkSlot) Close() (err error) {
	l.closing.Do(func() {
		close(l.gone)
		l.server.mu.Lock()
		delete(l.server.slots, l.ticket)
		l.server.mu.Unlock()
		l.carrier.release(l)
		err = l.conn.Close()
	})
	return err
}
