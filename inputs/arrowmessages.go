package inputs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// errNewSchema is the error of a stream of records whose schema changes.
var errNewSchema = errors.New("its schema changes in the middle, which has to be the same for all rows: let the sender begin a stream for each schema")

// errBehindEnd is the error of bytes after the end of a stream of records.
var errBehindEnd = errors.New("bytes follow the mark of its end, expected none: join streams with a program that reads and writes their records, or send one")

// arrowMessages gives the messages of a stream of records to the Arrow library, once their metadata is checked. The bytes received
// bound what the library may allocate.
type arrowMessages struct {
	next  func() (meta, body []byte, err error) // io.EOF at the end
	room  *messageRoom
	msg   *ipc.Message
	begun bool // the schema was read
	ended bool
}

// recordsOfMessages reads the schema, and returns the records that follow. stop ends the messages; after an error the caller has to call it.
func recordsOfMessages(next func() (meta, body []byte, err error), stop func() error) (*recordFile, error) {
	m := &arrowMessages{next: next, room: &messageRoom{Allocator: memory.NewGoAllocator()}}
	r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.room))
	if err != nil {
		return nil, err
	}
	read := func(context.Context) (arrow.Record, error) { return retained(r.Read()) }
	return &recordFile{schema: r.Schema(), next: read, stop: func() error { r.Release(); return stop() }}, nil
}

// told makes the errors of file name the stream of records.
func told(file *recordFile, name string) *recordFile {
	next := file.next
	file.next = func(ctx context.Context) (arrow.Record, error) {
		rec, err := next(ctx)
		told := new(DataError)
		switch {
		case err == nil || eof(err) || ctx.Err() != nil || errors.As(err, &told) || errors.Is(err, errors.ErrUnsupported):
			return rec, err
		case errors.Is(err, errNewSchema), errors.Is(err, errBehindEnd):
			return nil, &DataError{File: name, Err: err}
		}
		return nil, &DataError{File: name, Err: fmt.Errorf("the stream is damaged: %w", err)}
	}
	return file
}

// Message returns the next message, which is valid until the next call.
func (m *arrowMessages) Message() (*ipc.Message, error) {
	if m.ended {
		return nil, io.EOF
	}
	meta, body, err := m.next()
	if err != nil {
		m.ended = true
		return nil, err
	}
	kind, length := checkMessage(meta)
	switch {
	case length > int64(len(body)):
		return nil, fmt.Errorf("a message claims %d bytes of values, and has %d", length, len(body))
	case kind == schemaMessage && m.begun:
		return nil, errNewSchema
	}
	m.begun = true
	m.room.begin(kind, int64(len(body)))
	m.Release()
	metaBuffer, bodyBuffer := memory.NewBufferBytes(meta), memory.NewBufferBytes(body)
	m.msg = ipc.NewMessage(metaBuffer, bodyBuffer)
	metaBuffer.Release()
	bodyBuffer.Release()
	return m.msg, nil
}

// Retain is not used: the library's reader is the only owner.
func (m *arrowMessages) Retain() {}

// Release frees the current message.
func (m *arrowMessages) Release() {
	if m.msg != nil {
		m.msg.Release()
		m.msg = nil
	}
}

// messageRoom allocates for one message at a time, and for all dictionaries together, since the library keeps them to the end of the
// stream. It is garbage collected, like bounded.
type messageRoom struct {
	memory.Allocator
	left  int   // bytes that the current message may still take
	came  int64 // bytes of values in all messages so far
	dicts int   // bytes that dictionaries have taken
	dict  bool  // the current message is a dictionary
}

// begin makes room for a message with a body of n bytes. Reading a record may concatenate its dictionaries, which takes their size again.
func (r *messageRoom) begin(kind byte, n int64) {
	r.came += n
	r.dict = kind == dictionaryMessage
	r.left = int(maxUnpacked(n)) + r.dicts
	if r.dict {
		r.left = int(maxUnpacked(r.came)) - r.dicts
	}
}

// Allocate returns size bytes.
func (r *messageRoom) Allocate(size int) []byte {
	r.take(size)
	return r.Allocator.Allocate(size)
}

// Reallocate resizes a buffer.
func (r *messageRoom) Reallocate(size int, buf []byte) []byte {
	r.take(size - len(buf))
	return r.Allocator.Reallocate(size, buf)
}

func (r *messageRoom) take(size int) {
	if size > r.left {
		panic(fmt.Sprintf("a message claims buffers of more bytes than it can hold (%d, with room for %d)", size, r.left))
	}
	r.left -= max(size, 0)
	if r.dict {
		r.dicts += max(size, 0)
	}
}

// maxMessage bounds the metadata and the body of a message.
const maxMessage = 1<<31 - 1

// textMessages returns the messages of the IPC stream format. Bytes are read as they arrive.
func textMessages(in io.Reader) func() (meta, body []byte, err error) {
	return func() (meta, body []byte, err error) {
		n, err := messageLength(in)
		if err != nil {
			return nil, nil, err
		}
		if meta, err = readBytes(in, n); err != nil {
			return nil, nil, cutShort(err)
		}
		_, length := checkMessage(meta)
		if length < 0 || length > maxMessage {
			return nil, nil, fmt.Errorf("a message claims %d bytes of values, expected up to %d", length, maxMessage)
		}
		body, err = readBytes(in, length)
		return meta, body, cutShort(err)
	}
}

// toTheEnd wraps next so that bytes after the end of the messages are an error.
func toTheEnd(in *bufio.Reader, next func() (meta, body []byte, err error)) func() (meta, body []byte, err error) {
	return func() (meta, body []byte, err error) {
		if meta, body, err = next(); err == io.EOF {
			err = behindEnd(in)
		}
		return meta, body, err
	}
}

// endPatience is how long to wait for bytes after the end mark: programs that join streams send them at once, and others may keep a pipe
// open for as long as they like.
const endPatience = time.Second

// behindEnd returns io.EOF, or an error if bytes follow in time. A read that is still waiting is left alone: it ends when bytes come, or in ends.
func behindEnd(in *bufio.Reader) error {
	more := make(chan error, 1)
	go func() {
		_, err := in.Peek(1)
		more <- err
	}()
	select {
	case err := <-more:
		if err == nil {
			return errBehindEnd
		}
		return err
	case <-time.After(endPatience):
		return io.EOF
	}
}

// messageLength reads the length of a message's metadata: io.EOF at the end of the stream.
func messageLength(in io.Reader) (int64, error) {
	var head [8]byte
	switch n, err := io.ReadFull(in, head[:]); {
	case err == io.EOF, err == io.ErrUnexpectedEOF && n == 4 && binary.LittleEndian.Uint32(head[:]) == 0:
		return 0, io.EOF // which need not be marked
	case err != nil:
		return 0, cutShort(err)
	}
	if mark := binary.LittleEndian.Uint32(head[:]); mark != arrowContinuation {
		if isFooter(head[:], in) {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("a message begins with %#x, expected %#x", mark, uint32(arrowContinuation))
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	if n == 0 {
		return 0, io.EOF
	}
	if n > maxMessage {
		return 0, fmt.Errorf("a message claims %d bytes of metadata, expected up to %d", n, maxMessage)
	}
	return n, nil
}

// isFooter reports whether head, the first bytes read, and rest are the end of a file of the IPC file format. Some writers end the
// messages with nothing else.
func isFooter(head []byte, rest io.Reader) bool {
	const most = 64 << 20
	more, err := io.ReadAll(io.LimitReader(rest, most))
	text, magic := bytes.CutSuffix(append(head, more...), []byte(arrowMagic))
	n := len(text) - 4
	return err == nil && magic && n >= 0 && int64(binary.LittleEndian.Uint32(text[n:])) == int64(n)
}

// readBytes reads n bytes. It allocates memory as they arrive.
func readBytes(in io.Reader, n int64) ([]byte, error) {
	const step = 1 << 20
	buf := make([]byte, min(n, step))
	for at := 0; ; {
		k, err := io.ReadFull(in, buf[at:])
		if err != nil {
			return nil, err
		}
		if at += k; int64(at) == n {
			return buf, nil
		}
		buf = append(buf, make([]byte, min(n-int64(at), int64(at)))...)
	}
}

// cutShort is the error of a stream that ends within a message.
func cutShort(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends in the middle of a message: it is cut short")
	}
	return err
}
