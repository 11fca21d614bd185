package pytorch

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// The limits of a pickle. PyTorch writes about 200 bytes and 20 values per tensor, and takes 1000 items at a time.
const (
	maxPickle = 64 << 20 // bytes
	maxValues = 4 << 20  // made and copied
	maxStack  = 1 << 16  // values at a time
	maxName   = 1000     // bytes of a module's or a function's name
)

// machine runs one pickle: its opcodes make values on a stack.
type machine struct {
	r      *bufio.Reader
	left   int64 // bytes that may still be read
	read   int64 // bytes read
	stack  []any
	memo   map[uint64]any
	values int

	storages map[string]*storage // by their keys
}

// pickled is the result of a pickle.
type pickled struct {
	value    any
	size     int64 // of the pickle, in bytes
	storages map[string]*storage
}

// unpickle runs the pickle at the beginning of r, which is at most limit bytes long.
func unpickle(r io.Reader, limit int64) (pickled, error) {
	m := &machine{r: bufio.NewReader(r), left: min(limit, maxPickle), memo: map[uint64]any{}, storages: map[string]*storage{}}
	for {
		op, err := m.byte()
		if err != nil {
			return pickled{}, err
		}
		if op == opStop {
			break
		}
		do := opcodes[op]
		if do == nil {
			return pickled{}, tensorfile.Errorf("opcode 0x%02x at byte %d of the pickle, which state dicts do not need", op, m.read-1)
		}
		if err := do(m); err != nil {
			return pickled{}, err
		}
	}
	value, err := m.pop()
	return pickled{value, m.read, m.storages}, err
}

// bytes reads n bytes; it allocates memory as they arrive.
func (m *machine) bytes(n uint64) ([]byte, error) {
	if n > uint64(m.left) {
		return nil, tensorfile.Errorf("the pickle ends, or is larger than %d bytes, at byte %d, before %d more", maxPickle, m.read, n)
	}
	b := make([]byte, 0, min(n, 4096))
	for uint64(len(b)) < n {
		part := min(n-uint64(len(b)), uint64(max(len(b), 4096)))
		b = append(b, make([]byte, part)...)
		if _, err := io.ReadFull(m.r, b[uint64(len(b))-part:]); err != nil {
			return nil, ended(err)
		}
	}
	m.left, m.read = m.left-int64(n), m.read+int64(n)
	return b, nil
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return tensorfile.Errorf("the pickle ends before its last opcode")
	}
	return err
}

func (m *machine) byte() (byte, error) {
	if m.left == 0 {
		return 0, tensorfile.Errorf("the pickle ends, or is larger than %d bytes, at byte %d", maxPickle, m.read)
	}
	m.left, m.read = m.left-1, m.read+1
	b, err := m.r.ReadByte()
	return b, ended(err)
}

// uint reads a little-endian unsigned number of size bytes.
func (m *machine) uint(size int) (uint64, error) {
	var b [8]byte
	for i := range size {
		c, err := m.byte()
		if err != nil {
			return 0, err
		}
		b[i] = c
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// line reads to the next newline.
func (m *machine) line() (string, error) {
	var b []byte
	for {
		c, err := m.byte()
		if err != nil {
			return "", err
		}
		if c == '\n' {
			return string(b), nil
		}
		if b = append(b, c); len(b) > maxName {
			return "", tensorfile.Errorf("a name of more than %d bytes", maxName)
		}
	}
}

func (m *machine) push(v any) error {
	if m.values++; m.values > maxValues || len(m.stack) >= maxStack {
		return tensorfile.Errorf("more than %d values in the pickle, or %d at a time", maxValues, maxStack)
	}
	m.stack = append(m.stack, v)
	return nil
}

var errStack = tensorfile.Errorf("the pickle takes a value that is not there")

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

// top returns the last value without taking it. A mark is no value.
func (m *machine) top() (any, error) {
	if len(m.stack) == 0 || m.stack[len(m.stack)-1] == (mark{}) {
		return nil, errStack
	}
	return m.stack[len(m.stack)-1], nil
}

// take takes the last n values, in order.
func (m *machine) take(n int) ([]any, error) {
	out := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// marked takes the last mark and the values after it.
func (m *machine) marked() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i] == (mark{}) {
			out := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return out, nil
		}
	}
	return nil, tensorfile.Errorf("the pickle ends a list that it did not begin")
}
