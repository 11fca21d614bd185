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

// A bulk connection carries the frames of one stream at a time beside gRPC, which opens
// the stream, reports how it ended and monitors the peer. The package documentation
// describes the bytes.

// Kinds of records; the last byte is the version of the framing.
var (
	recordFrame = [4]byte{'G', 'E', 'F', 2}
	recordEnd   = [4]byte{'G', 'E', 'E', 2}
)

const (
	// recordPrefix: kind, length of the header, length of the body, and the checksums of
	// body, header and everything before it.
	recordPrefix = 24
	// bulkBuffer is how much is read at once at the start of a record: a small message
	// takes one system call, and only a little of a large one is copied twice.
	bulkBuffer = 4 << 10
	// coalesce is the size up to which a record is copied into one piece and written at once.
	coalesce = 4 << 10
	// piece is how much memory is allocated ahead of the received data.
	piece = 1 << 20
)

// bulkConn frames the data of a bulk connection. One goroutine may send while another
// receives.
type bulkConn struct {
	conn    net.Conn
	carrier *watchedConn // the gRPC connection to which it belongs
	ticket  ticket
	limit   int  // of a message
	sums    bool // of everything, if the connection is in plaintext; otherwise they are 0 and ignored

	in      *bufio.Reader
	message Message
	sum     uint32 // of the received part of the body
	want    uint32 // its expected value at the end
	prefix  [recordPrefix]byte
	header  []byte
	ended   bool // the peer said that no more messages follow

	out     []byte      // prefix and header, after records that wait to be sent with the next
	held    int         // bytes of these records
	pieces  [][]byte    // memory of chunks
	chunks  net.Buffers // of pieces; a field, so that writing allocates nothing
	endSent bool

	broken atomic.Bool // a record was left unfinished
}

func newBulkConn(c net.Conn, carrier *watchedConn, t ticket, limit int, sums bool) *bulkConn {
	return &bulkConn{conn: c, carrier: carrier, ticket: t, limit: limit, sums: sums, in: bufio.NewReaderSize(c, bulkBuffer)}
}

// Close closes the connection, and ends reads and writes.
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

// check compares a checksum, if there is one.
func (c *bulkConn) check(what string, got, want uint32) error {
	if !c.sums || got == want {
		return nil
	}
	return fmt.Errorf("%w: the checksum of a record's %s is %08x, expected %08x", ErrDamaged, what, got, want)
}

// unfinished turns the end of a connection, where a record was expected, into an error.
func unfinished(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// discard drops the unread rest of the last message.
func (c *bulkConn) discard() error {
	for c.message.left > 0 {
		n, err := c.in.Discard(min(c.message.left, piece))
		if c.message.left -= n; err != nil {
			return err
		}
	}
	return nil
}

// readBody reads from the connection; large pieces go straight into p. The last bytes are
// returned only if the checksum of the body is right.
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

// frame reads a whole message. Its memory is allocated piece by piece as bytes arrive.
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

// renew prepares the connection for another stream.
func (c *bulkConn) renew() {
	c.ended, c.endSent, c.message = false, false, Message{}
}
