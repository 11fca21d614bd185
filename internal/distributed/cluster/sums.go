package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"
)

// ErrDamaged is wrapped by errors that report that bytes were changed between this task and a
// peer, according to a checksum. TCP's own is too weak to detect all damage by a broken
// machine. The task that made the connection should end, and be restarted: every later call to
// that peer fails, too.
var ErrDamaged = errors.New("bytes were damaged on their way")

// castagnoli is CRC-32C, for which processors have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

const (
	// sumPrefix is the length of a record's prefix: its length, its checksum, and the checksum
	// of both.
	sumPrefix = 12
	// sumBytes is the most bytes in one record.
	sumBytes = bufferSize
	// alertTime bounds how long damage is reported to a peer.
	alertTime = time.Second
)

// summed is a gRPC connection in plaintext. Its bytes travel in records with checksums, so that
// damaged bytes of HTTP/2 have no effect. An empty record means that the peer has received
// damaged ones. One goroutine may read while others write.
type summed struct {
	net.Conn
	met func(error) // gets the damage before Read returns it

	writing sync.Mutex
	out     []byte
	pieces  [2][]byte

	in      []byte // received data is in[at:end]
	at, end int
	ready   []byte // the part of it that was checked and may be read
	failed  error
}

func newSummed(c net.Conn, met func(error)) *summed { return &summed{Conn: c, met: met} }

// Write sends p in as many records as it takes.
func (c *summed) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for n < len(p) && err == nil {
		b := p[n:min(len(p), n+sumBytes)]
		if err = c.record(b); err == nil {
			n += len(b)
		}
	}
	return n, err
}

// record sends one record; writing is held.
func (c *summed) record(b []byte) (err error) {
	head := binary.LittleEndian.AppendUint32(c.out[:0], uint32(len(b)))
	head = binary.LittleEndian.AppendUint32(head, checksum(b))
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	if len(head)+len(b) <= coalesce {
		c.out = append(head, b...)
		_, err = c.Conn.Write(c.out)
		return err
	}
	c.out, c.pieces = head, [2][]byte{head, b}
	chunks := net.Buffers(c.pieces[:])
	_, err = chunks.WriteTo(c.Conn)
	clear(c.pieces[:])
	return err
}

// Read returns checked bytes.
func (c *summed) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// receive makes the bytes of the next record ready.
func (c *summed) receive() error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.fetch(sumPrefix); err != nil {
		return err
	}
	head := c.in[c.at:]
	n, sum := int(binary.LittleEndian.Uint32(head)), binary.LittleEndian.Uint32(head[4:])
	switch {
	case checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]):
		return c.damaged(fmt.Errorf("%w: the checksum of a record's length is wrong", ErrDamaged))
	case n == 0:
		return c.damaged(fmt.Errorf("%w: the peer says so", ErrDamaged))
	case n > sumBytes:
		return fmt.Errorf("%w: a record of %d bytes, expected at most %d", ErrMalformed, n, sumBytes)
	}
	if err := c.fetch(sumPrefix + n); err != nil {
		return unfinished(err)
	}
	b := c.in[c.at+sumPrefix : c.at+sumPrefix+n]
	if got := checksum(b); got != sum {
		return c.damaged(fmt.Errorf("%w: the checksum of %d bytes is %08x, expected %08x", ErrDamaged, n, got, sum))
	}
	c.at += sumPrefix + n
	c.ready = b
	return nil
}

// fetch receives until n bytes are available.
func (c *summed) fetch(n int) error {
	if c.in == nil {
		c.in = make([]byte, sumPrefix+sumBytes)
	}
	if c.at == c.end {
		c.at, c.end = 0, 0
	}
	if c.at+n > len(c.in) {
		c.end, c.at = copy(c.in, c.in[c.at:c.end]), 0
	}
	for c.end-c.at < n {
		got, err := c.Conn.Read(c.in[c.end:])
		c.end += got
		if err != nil && c.end-c.at < n {
			if c.end > c.at {
				err = unfinished(err)
			}
			return err
		}
	}
	return nil
}

func (c *summed) damaged(err error) error {
	c.failed = err
	c.met(err)
	return err
}

// alert tells the peer that its bytes are damaged, and that no more follow.
func (c *summed) alert() {
	c.SetWriteDeadline(time.Now().Add(alertTime)) // also ends a stuck write
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.record(nil) == nil {
		closeWrite(c.Conn)
	}
}

// linger waits a moment for the peer to close the connection. Closing it with unread bytes
// would reset it, and the peer might not receive the last message.
func linger(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(alertTime))
	_, _ = io.CopyN(io.Discard, c, 64<<10)
}

func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite() // the connection ends
	}
}
