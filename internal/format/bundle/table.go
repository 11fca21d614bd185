package bundle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/golang/snappy"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
)

// The index is a LevelDB table (leveldb/doc/table_format.md). It has its own
// reader because the input may be anything: sizes are checked before they are
// used, and every byte that is used is covered by a checksum.
const (
	footerSize    = 48
	trailerSize   = 5 // block type and checksum
	blockRaw      = 0
	blockSnappy   = 1
	snappyMaxRate = 64  // no snappy element yields more bytes per input byte
	expandMaxRate = 256 // of everything, compared to the size of the file
)

var tableMagic = []byte{0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb}

type pair struct{ key, value []byte }

// indexTable is a table being read.
type indexTable struct {
	path  string
	file  io.ReaderAt
	size  int64
	pay   func(n int) error // called before n bytes are allocated; may be nil
	quota int               // bytes that blocks and keys may still expand to
	ahead int               // bytes of entries that are paid for, but not read yet
}

type blockHandle struct{ offset, size uint64 }

// parseTable returns all entries of a table, in order.
func parseTable(path string, file []byte) ([]pair, error) {
	t := &indexTable{path: path, file: bytes.NewReader(file), size: int64(len(file))}
	blocks, err := t.blocks()
	if err != nil {
		return nil, err
	}
	var pairs []pair
	for _, b := range blocks {
		if pairs, err = t.entries(b.blockHandle, pairs); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// lastKey is a block with data, and a key that is at least the block's last key.
type lastKey struct {
	blockHandle
	key []byte
}

// blocks checks footer and meta block, and returns the blocks with data.
func (t *indexTable) blocks() ([]lastKey, error) {
	t.quota = expandMaxRate * int(t.size)
	meta, index, err := t.footer()
	if err != nil {
		return nil, err
	}
	if _, err := t.block(meta); err != nil {
		return nil, err
	}
	var all []lastKey
	err = t.eachEntry(index, func(key, value []byte) error {
		h, n := parseHandle(value)
		if n != len(value) {
			return t.corrupt(index.offset, "bad block handle in the index block")
		}
		all = append(all, lastKey{h, key})
		return nil
	})
	return all, err
}

// entries appends the entries of a block. Their keys must ascend, and follow the keys before.
func (t *indexTable) entries(h blockHandle, before []pair) ([]pair, error) {
	err := t.eachEntry(h, func(key, value []byte) error {
		if n := len(before); n > 0 && bytes.Compare(before[n-1].key, key) >= 0 {
			return t.corrupt(0, "key %q is out of order", key)
		}
		before = append(before, pair{key, value})
		return nil
	})
	return before, err
}

func (t *indexTable) corrupt(offset uint64, format string, args ...any) error {
	return &CorruptError{Path: t.path, Offset: int64(offset), Reason: fmt.Sprintf(format, args...)}
}

func (t *indexTable) footer() (meta, index blockHandle, err error) {
	if t.size < footerSize {
		return meta, index, t.corrupt(0, "%d bytes are too few for an index file", t.size)
	}
	at := uint64(t.size - footerSize)
	foot, err := t.read(at, footerSize)
	if err != nil {
		return meta, index, err
	}
	body := foot[:footerSize-len(tableMagic)]
	if !bytes.Equal(foot[len(body):], tableMagic) {
		return meta, index, t.corrupt(at+uint64(len(body)), "magic number %x, expected %x", foot[len(body):], tableMagic)
	}
	meta, n := parseHandle(body)
	if n > 0 {
		var k int
		index, k = parseHandle(body[n:])
		n += k
		if k > 0 && len(bytes.TrimLeft(body[n:], "\x00")) == 0 {
			return meta, index, nil
		}
	}
	return meta, index, t.corrupt(at, "bad footer")
}

// parseHandle returns a block handle and its stored length, 0 if it is bad.
// Numbers must have their shortest form, so that every flipped bit is detected.
func parseHandle(b []byte) (blockHandle, int) {
	off, n := binary.Uvarint(b)
	if n <= 0 || (n > 1 && b[n-1] == 0) {
		return blockHandle{}, 0
	}
	size, k := binary.Uvarint(b[n:])
	if k <= 0 || (k > 1 && b[n+k-1] == 0) {
		return blockHandle{}, 0
	}
	return blockHandle{off, size}, n + k
}

// block returns the decompressed content of a block after checking it.
func (t *indexTable) block(h blockHandle) ([]byte, error) {
	limit := uint64(t.size - footerSize)
	if h.offset > limit || h.size > limit-h.offset || limit-h.offset-h.size < trailerSize {
		return nil, t.corrupt(h.offset, "a block of %d bytes does not fit into the file", h.size)
	}
	b, err := t.read(h.offset, int(h.size)+trailerSize)
	if err != nil {
		return nil, err
	}
	body, kind := b[:h.size:h.size], b[h.size]
	want := binary.LittleEndian.Uint32(b[h.size+1:])
	if got := maskedcrc.Of(b[:h.size+1]); got != want {
		return nil, &CorruptError{Path: t.path, Offset: int64(h.offset), Reason: "checksum of a block", Want: want, Got: got}
	}
	switch kind {
	case blockRaw:
		return body, nil
	case blockSnappy:
		n, err := snappy.DecodedLen(body)
		if err != nil || n > snappyMaxRate*len(body) {
			return nil, t.corrupt(h.offset, "bad snappy block")
		}
		if err := t.paid(n); err != nil {
			return nil, err
		}
		out, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, t.corrupt(h.offset, "bad snappy block: %v", err)
		}
		return out, nil
	}
	return nil, t.corrupt(h.offset+h.size, "unknown block type %d", kind)
}

// read returns n bytes of the file, which must have them.
func (t *indexTable) read(offset uint64, n int) ([]byte, error) {
	if err := t.paid(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if k, err := t.file.ReadAt(b, int64(offset)); k < n {
		return nil, shortRead(CorruptError{Path: t.path, Offset: int64(offset)}, k, n, err)
	}
	return b, nil
}

func (t *indexTable) paid(n int) error {
	if t.pay == nil {
		return nil
	}
	return t.pay(n)
}

// entryStep is the number of bytes of entries that are paid for at once.
const entryStep = 64 << 10

// entry pays for an entry of a block, whose key has key bytes. Entries are small, so many are paid for ahead.
func (t *indexTable) entry(key int) error {
	const headers = 48 // of the key and the value
	if t.ahead -= key + headers; t.ahead >= 0 {
		return nil
	}
	more := entryStep - t.ahead
	t.ahead += more
	return t.paid(more)
}

// eachEntry calls fn with the entries of a block.
func (t *indexTable) eachEntry(h blockHandle, fn func(key, value []byte) error) error {
	b, err := t.block(h)
	if err != nil {
		return err
	}
	if t.quota -= len(b); t.quota < 0 {
		return t.corrupt(h.offset, "blocks are out of proportion to the file")
	}
	if len(b) < 4 {
		return t.corrupt(h.offset, "a block of %d bytes lacks its restart count", len(b))
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if restarts > uint64(len(b)-4)/4 {
		return t.corrupt(h.offset, "%d restart points do not fit into the block", restarts)
	}
	b = b[:uint64(len(b))-4-4*restarts]
	var key []byte
	for len(b) > 0 {
		var value []byte
		if key, value, b = nextEntry(key, b); value == nil {
			return t.corrupt(h.offset, "bad entry in a block")
		}
		if t.quota -= len(key); t.quota < 0 {
			return t.corrupt(h.offset, "keys are out of proportion to the file")
		}
		if err := t.entry(len(key)); err != nil {
			return err
		}
		if err := fn(key, value); err != nil {
			return err
		}
	}
	return nil
}

// nextEntry decodes one prefix-compressed entry; value is nil if it is bad.
func nextEntry(prev, b []byte) (key, value, rest []byte) {
	var f [3]uint64 // shared, unshared, value length
	for i := range f {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, nil, nil
		}
		f[i], b = v, b[n:]
	}
	if f[0] > uint64(len(prev)) || f[1] > uint64(len(b)) || f[2] > uint64(len(b))-f[1] {
		return nil, nil, nil
	}
	key = append(prev[:f[0]:f[0]], b[:f[1]]...)
	b = b[f[1]:]
	return key, b[:f[2]:f[2]], b[f[2]:]
}
