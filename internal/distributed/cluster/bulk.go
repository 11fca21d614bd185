package cluster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// A bulk connection carries the frames of one stream at a time beside gRPC,
// which opens the stream, says how it ended and watches over the peer. The
// package's documentation has the bytes.

// Kinds of records; the last byte is the version of the framing.
var (
	recordFrame = [4]byte{'G', 'E', 'F', 2}
	recordEnd   = [4]byte{'G', 'E', 'E', 2}
)

const (
	// recordPrefix: kind, length of the header, length of the body, and the checksums
	// of body, header and what precedes it.
	recordPrefix = 24
	// bulkBuffer is how much is read at once where a record starts: a small message
	// takes one system call, and of a large one little is copied twice.
	bulkBuffer = 4 << 10
	// coalesce is the size up to which a record is copied together, to be written at once.
	coalesce = 4 << 10
	// piece is how much memory is taken ahead of what has arrived.
	piece = 1 << 20
)

// bulkConn frames what goes over a bulk connection. One goroutine may send while
// another receives.
type bulkConn struct {
	conn    net.Conn
	carrier *watchedConn // the gRPC connection that it belongs to
	ticket  ticket
	limit   int  // of a message
	sums    bool // of everything, as the connection is in plaintext; else they are 0 and nobody looks

	in      *bufio.Reader
	message Message
	sum     uint32 // of what was read of the body
	want    uint32 // what it is to be at the end
	prefix  [recordPrefix]byte
	header  []byte
	ended   bool // the peer said that no more messages follow

	out     []byte      // prefix and header, behind records that wait to go with the next
	held    int         // bytes of those
	pieces  [][]byte    // memory of chunks
	chunks  net.Buffers // of pieces; a field, so that writing allocates nothing
	endSent bool

	broken atomic.Bool // a record was left unfinished
}

func newBulkConn(c net.Conn, carrier *watchedConn, t ticket, limit int, sums bool) *bulkConn {
	return &bulkConn{conn: c, carrier: carrier, ticket: t, limit: limit, sums: sums, in: bufio.NewReaderSize(c, bulkBuffer)}
}

// Close ends the connection, and what is being read or written.
func (c *bulkConn) Close() error {
	c.broken.Store(true)
	return c.conn.Close()
}

// send writes a frame; its memory may be changed when it returns.
func (c *bulkConn) send(f *Frame) error {
	n := f.Len()
	if all := len(f.Header) + n; all > c.limit {
		return errTooLong(all, c.limit)
	}
	return c.write(recordFrame, f, n)
}

// sendEnd says that no more messages follow.
func (c *bulkConn) sendEnd() error {
	c.endSent = true
	return c.write(recordEnd, &Frame{}, 0)
}

func (c *bulkConn) write(kind [4]byte, f *Frame, n int) (err error) {
	header, body := f.Header, f.Body
	var sumOfBody, sumOfHeader, sumOfAll uint32
	if c.sums {
		for _, p := range body {
			sumOfBody = crc32.Update(sumOfBody, castagnoli, p)
		}
		sumOfHeader = checksum(header)
	}
	b := append(c.out[:c.held], kind[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, sumOfBody)
	b = binary.LittleEndian.AppendUint32(b, sumOfHeader)
	if c.sums {
		sumOfAll = checksum(b[c.held:])
	}
	b = binary.LittleEndian.AppendUint32(b, sumOfAll)
	b = append(b, header...)
	if len(b)+n <= coalesce {
		for _, p := range body {
			b = append(b, p...)
		}
		if c.held = 0; f.More {
			c.out, c.held = b, len(b)
			return nil
		}
		_, err = c.conn.Write(b)
	} else {
		c.held = 0
		c.pieces = append(append(c.pieces[:0], b), body...)
		c.chunks = c.pieces
		_, err = c.chunks.WriteTo(c.conn)
		clear(c.pieces)
	}
	c.out = b
	if err != nil {
		c.broken.Store(true)
	}
	return err
}

// next returns the next message, io.EOF at the peer's end.
func (c *bulkConn) next() (*Message, error) {
	if c.ended {
		return nil, io.EOF
	}
	m, err := c.read()
	if err != nil && !errors.Is(err, io.EOF) {
		c.broken.Store(true)
	}
	return m, err
}

func (c *bulkConn) read() (*Message, error) {
	if err := c.discard(); err != nil {
		return nil, unfinished(err)
	}
	p := c.prefix[:]
	if _, err := io.ReadFull(c.in, p); err != nil {
		return nil, unfinished(err)
	}
	if err := c.check("prefix", checksum(p[:20]), binary.LittleEndian.Uint32(p[20:])); err != nil {
		return nil, err
	}
	headerLen, bodyLen := int(binary.LittleEndian.Uint32(p[4:])), int(binary.LittleEndian.Uint32(p[8:]))
	switch kind := [4]byte(p[:4]); {
	case kind == recordEnd && headerLen == 0 && bodyLen == 0:
		c.ended = true
		return nil, io.EOF
	case kind != recordFrame:
		return nil, status.Errorf(codes.Internal, "%v: a record starts with %x, expected %x: are all tasks of the same version?", ErrMalformed, p, recordFrame)
	case headerLen+bodyLen > c.limit:
		return nil, errTooLong(headerLen+bodyLen, c.limit)
	}
	c.header = c.header[:0]
	for headerLen > len(c.header) { // memory is taken as bytes arrive
		at := len(c.header)
		n := min(headerLen-at, piece)
		c.header = slices.Grow(c.header, n)[:at+n]
		if _, err := io.ReadFull(c.in, c.header[at:]); err != nil {
			return nil, unfinished(err)
		}
	}
	if err := c.check("header", checksum(c.header), binary.LittleEndian.Uint32(p[16:])); err != nil {
		return nil, err
	}
	c.sum, c.want = 0, binary.LittleEndian.Uint32(p[12:])
	c.message = Message{Header: c.header, left: bodyLen, from: c}
	return &c.message, nil
}

// check compares a checksum, where there are any.
func (c *bulkConn) check(what string, got, want uint32) error {
	if !c.sums || got == want {
		return nil
	}
	return fmt.Errorf("%w: the checksum of a record's %s is %08x, expected %08x", ErrDamaged, what, got, want)
}

// unfinished makes the end of a connection, where a record was expected, an error.
func unfinished(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// discard drops what was not read of the last message.
func (c *bulkConn) discard() error {
	for c.message.left > 0 {
		n, err := c.in.Discard(min(c.message.left, piece))
		if c.message.left -= n; err != nil {
			return err
		}
	}
	return nil
}

// readBody reads from the connection; large pieces go straight into p. The last
// bytes are there only where the checksum of all is right.
func (c *bulkConn) readBody(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if c.sums {
		c.sum = crc32.Update(c.sum, castagnoli, p[:n])
		if n == c.message.left {
			if wrong := c.check("body", c.sum, c.want); wrong != nil {
				n, err = 0, wrong
			}
		}
	}
	if err != nil {
		c.broken.Store(true)
	}
	return n, unfinished(err)
}

// frame reads the whole of a message. Its memory comes in pieces, as bytes do.
func (m *Message) frame() (*Frame, error) {
	f := &Frame{Header: slices.Clone(m.Header)}
	pool := mem.DefaultBufferPool()
	end := 0
	for m.left > 0 {
		b := pool.Get(min(m.left, piece))
		f.buffers = append(f.buffers, mem.NewBuffer(b, pool))
		if _, err := io.ReadFull(m, *b); err != nil {
			f.Release()
			return nil, err
		}
		end += len(*b)
		f.Body, f.ends = append(f.Body, *b), append(f.ends, end)
	}
	return f, nil
}

// renew makes the connection ready for another stream.
func (c *bulkConn) renew() {
	c.ended, c.endSent, c.message = false, false, Message{}
}
