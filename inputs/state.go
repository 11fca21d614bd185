package inputs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// An iterator state is: stateMagic, the version, the description of the
// pipeline, the fields of its stages from the last to the first, and a CRC-32C
// of all this.
const (
	stateMagic   = "GSTI"
	stateVersion = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stateWriter collects a state: the pieces passed by reference, each after the bytes written before it, then
// buf.
type stateWriter struct {
	before [][]byte
	buf    []byte
	small  bool  // records must fit in room
	room   int64 // bytes left
}

// errLargeState reports that the rows do not fit in a small state.
var errLargeState = errors.New("the state is too large for now")

// fits returns errLargeState if rows bytes of rows do not fit.
func (w *stateWriter) fits(rows int64) error {
	if w.small && rows > w.room {
		return errLargeState
	}
	return nil
}

func (w *stateWriter) int(v int64) { w.buf = binary.AppendVarint(w.buf, v) }
func (w *stateWriter) bytes(b []byte) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(b)))
	w.buf = append(w.buf, b...)
}

// reference adds bytes that never change, and copies them later.
func (w *stateWriter) reference(b []byte) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(b)))
	w.before = append(w.before, w.buf, b)
	w.buf = nil
}

// all returns everything written, in one copy.
func (w *stateWriter) all() []byte { return append(slices.Concat(w.before...), w.buf...) }

// record writes a record as an Arrow IPC stream; nil is an empty field.
func (w *stateWriter) record(rec arrow.Record) error {
	if rec == nil {
		w.bytes(nil)
		return nil
	}
	size := rowBytes(rec)
	if err := w.fits(size); err != nil {
		return err
	}
	w.room -= size
	rec, err := wholeCopy(rec)
	if err != nil {
		return fmt.Errorf("write rows into the input state: %w", err)
	}
	defer rec.Release()
	var b bytes.Buffer
	b.Grow(int(size) + stateFrame) // growing the buffer would copy it several times
	iw := ipc.NewWriter(&b, ipc.WithSchema(rec.Schema()))
	if err := iw.Write(rec); err != nil {
		return fmt.Errorf("write rows into the input state: %w", err)
	}
	if err := iw.Close(); err != nil {
		return fmt.Errorf("write rows into the input state: %w", err)
	}
	w.reference(b.Bytes())
	return nil
}

// stateFrame is about what a record takes in a state in addition to its rows.
const stateFrame = 4 << 10

// wholeCopy returns a copy of a record: arrow v15 fails to write some slices of records.
func wholeCopy(rec arrow.Record) (arrow.Record, error) {
	return gatherRecord(memory.NewGoAllocator(), rec.Schema(), []arrow.Record{rec}, []span{{0, 0, int(rec.NumRows())}})
}

// stateReader reads what stateWriter wrote; the first error sticks.
type stateReader struct {
	buf []byte
	err error
}

func (r *stateReader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: a field is cut short or out of range", ErrBadState)
	}
}

func (r *stateReader) int() int64 {
	v, n := binary.Varint(r.buf)
	if n <= 0 || r.err != nil {
		r.fail()
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

// count reads an int, which must be in [0, limit].
func (r *stateReader) count(limit int64) int64 {
	v := r.int()
	if v < 0 || v > limit {
		r.fail()
		return 0
	}
	return v
}

func (r *stateReader) bytes() []byte {
	n, k := binary.Uvarint(r.buf)
	if k <= 0 || r.err != nil || n > uint64(len(r.buf)-k) {
		r.fail()
		return nil
	}
	b := r.buf[k : k+int(n)]
	r.buf = r.buf[k+int(n):]
	return b
}

// record reads what stateWriter.record wrote, with schema s. The rows
// belong to Go's garbage collector.
func (r *stateReader) record(s *Schema) (rec arrow.Record, err error) {
	b := r.bytes()
	if r.err != nil || len(b) == 0 {
		return nil, r.err
	}
	defer recoverArrow("input state", &err)
	if err := checkStream(bytes.NewReader(b), int64(len(b))); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadState, err)
	}
	ir, err := ipc.NewReader(bytes.NewReader(b), ipc.WithAllocator(boundedFor(int64(len(b)))), ipc.WithSchema(s.Arrow()))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadState, err)
	}
	defer ir.Release()
	rec, err = ir.Read()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadState, err)
	}
	rec.Retain()
	return rec, nil
}

// recoverArrow turns a panic of the Arrow library over damaged bytes into an error.
func recoverArrow(what string, err *error) {
	switch p := recover().(type) {
	case nil:
	case tooMuch:
		*err = fmt.Errorf("%s: %s", what, p)
	default:
		*err = fmt.Errorf("%s: damaged Arrow data: %v", what, p)
	}
}

// writeState writes the state of a pass. Call finalize to complete it.
func writeState(describe string, st stage) (*stateWriter, error) {
	w := &stateWriter{buf: append([]byte(stateMagic), stateVersion)}
	w.bytes([]byte(describe))
	if err := st.save(w); err != nil {
		return nil, err
	}
	return w, nil
}

// finalize returns the state with its checksum.
func (w *stateWriter) finalize() []byte {
	b := w.all()
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// openState checks a state's header and checksum, and returns a reader of its stages' fields.
func openState(describe string, state []byte) (*stateReader, error) {
	head := len(stateMagic) + 1
	if len(state) < head+4 || string(state[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("%w: %d bytes without the mark %q", ErrBadState, len(state), stateMagic)
	}
	body, sum := state[:len(state)-4], binary.LittleEndian.Uint32(state[len(state)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, fmt.Errorf("%w: its checksum does not match", ErrBadState)
	}
	if v := state[head-1]; v != stateVersion {
		return nil, fmt.Errorf("%w: version %d, this program reads version %d", ErrBadState, v, stateVersion)
	}
	r := &stateReader{buf: body[head:]}
	got := r.bytes()
	if r.err != nil {
		return nil, r.err
	}
	if string(got) != describe && !beforeDamage(string(got), describe) {
		return nil, &StateMismatchError{Saved: string(got), Now: describe}
	}
	return r, nil
}

// eof reports whether err is the end of a stream.
func eof(err error) bool { return err == io.EOF }

// records reads a count and that many records; none may be empty.
func (r *stateReader) records(s *Schema) (recs []arrow.Record, err error) {
	for range r.count(int64(len(r.buf))) {
		rec, err := r.record(s)
		if err == nil && rec == nil {
			err = fmt.Errorf("%w: a record is empty", ErrBadState)
		}
		if err != nil {
			releaseAll(recs)
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, r.err
}
