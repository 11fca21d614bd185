package bundle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// Reader reads one bundle. It keeps the data files open, so that they may be
// removed meanwhile. It is safe for concurrent use until Close.
type Reader struct {
	prefix  string
	digest  [sha256.Size]byte
	shards  int
	files   map[int]*dataFile
	entries map[string]*entry
	names   []string // sorted, without slice keys
}

type dataFile struct {
	atomicfile.File
	path string
	size int64
}

// Info describes a tensor of a bundle.
type Info struct {
	Name   string
	DType  tensor.DType
	Shape  []int
	Slices []Slice // set for a partitioned tensor
	Shard  int     // index of the data file; it and the following fields are 0 for a partitioned tensor
	Offset int64   // position in that file
	Bytes  int64   // as stored
}

// Open reads the index of a bundle and opens its data files. The error wraps
// fs.ErrNotExist if a file is missing, or is a *CorruptError. The tensors' own
// checksums are checked when a tensor is read; Verify checks all of them.
func Open(fsys atomicfile.FS, prefix string) (*Reader, error) {
	path := IndexPath(prefix)
	b, err := atomicfile.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	pairs, err := parseTable(path, b)
	if err != nil {
		return nil, err
	}
	r := &Reader{prefix: prefix, digest: sha256.Sum256(b), files: map[int]*dataFile{}, entries: map[string]*entry{}}
	if err := r.parse(path, pairs); err != nil {
		return nil, err
	}
	if err := r.openData(fsys); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) parse(path string, pairs []pair) error {
	if len(pairs) == 0 || len(pairs[0].key) != 0 {
		return &CorruptError{Path: path, Reason: "the header entry is missing"}
	}
	var err error
	if r.shards, err = parseHeader(pairs[0].value); err != nil {
		return &CorruptError{Path: path, Reason: err.Error()}
	}
	for _, p := range pairs[1:] {
		key := string(p.key)
		e, err := parseEntry(key, p.value, r.shards)
		if err != nil {
			return &CorruptError{Path: path, Key: key, Reason: err.Error()}
		}
		r.entries[key] = e
		if !isSliceKey(key) {
			r.names = append(r.names, key)
		}
	}
	sort.Strings(r.names)
	return nil
}

// openData opens the data files that the entries refer to and checks that the
// entries lie inside them.
func (r *Reader) openData(fsys atomicfile.FS) error {
	for key, e := range r.entries {
		if len(e.slices) > 0 {
			continue
		}
		f := r.files[e.shard]
		if f == nil {
			path := DataPath(r.prefix, e.shard, r.shards)
			file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			f = &dataFile{File: file, path: path}
			r.files[e.shard] = f
			if f.size, err = file.Size(); err != nil {
				return err
			}
		}
		if e.offset > f.size || e.size > f.size-e.offset {
			return &CorruptError{Path: f.path, Key: key, Offset: f.size, Err: io.ErrUnexpectedEOF,
				Reason: fmt.Sprintf("the file ends before the tensor's bytes %d to %d", e.offset, e.offset+e.size)}
		}
	}
	return nil
}

// Prefix returns the common prefix of the bundle's file names.
func (r *Reader) Prefix() string { return r.prefix }

// Digest returns the hash of the index, which has the checksums of all tensors:
// bundles with equal digests have equal contents.
func (r *Reader) Digest() [sha256.Size]byte { return r.digest }

// List describes the tensors, sorted by name.
func (r *Reader) List() []Info {
	list := make([]Info, len(r.names))
	for i, n := range r.names {
		list[i], _ = r.Lookup(n)
	}
	return list
}

// Lookup describes one tensor.
func (r *Reader) Lookup(name string) (Info, bool) {
	e := r.entries[name]
	if e == nil || isSliceKey(name) {
		return Info{}, false
	}
	return Info{
		Name: name, DType: e.dtype, Shape: append([]int{}, e.shape...), Slices: e.slices,
		Shard: e.shard, Offset: e.offset, Bytes: e.size,
	}, true
}

// Tensor reads one tensor, partitioned or not, and checks it. The error wraps
// ErrNotFound or ErrUnsupported, or is a *CorruptError.
func (r *Reader) Tensor(name string) (*tensor.Tensor, error) {
	e := r.entries[name]
	if e == nil || isSliceKey(name) {
		return nil, fmt.Errorf("key %q not found in checkpoint %s: %w", name, r.prefix, ErrNotFound)
	}
	if len(e.slices) > 0 {
		return r.join(e)
	}
	return r.read(e)
}

func (r *Reader) read(e *entry) (*tensor.Tensor, error) {
	if e.dtype != tensor.String && e.dtype.Size() == 0 {
		return nil, fmt.Errorf("tensor %q of checkpoint %s: %w: %s", e.key, r.prefix, ErrUnsupported, e.dtype)
	}
	f := r.files[e.shard]
	if e.dtype == tensor.String {
		raw := make([]byte, e.size)
		if err := readFull(f, raw, e); err != nil {
			return nil, err
		}
		elems, crc, err := parseStrings(raw, tensor.NumElements(e.shape))
		if err != nil {
			return nil, &CorruptError{Path: f.path, Key: e.key, Offset: e.offset, Reason: err.Error()}
		}
		if err := checkCRC(f, e, crc); err != nil {
			return nil, err
		}
		return tensor.FromStrings(elems, e.shape...)
	}
	t := tensor.New(e.dtype, e.shape...)
	if err := readFull(f, t.Bytes, e); err != nil {
		return nil, err
	}
	return t, checkCRC(f, e, maskedcrc.Of(t.Bytes))
}

func readFull(f *dataFile, b []byte, e *entry) error {
	n, err := f.ReadAt(b, e.offset)
	if n == len(b) {
		return nil
	}
	return shortRead(CorruptError{Path: f.path, Key: e.key, Offset: e.offset}, n, len(b), err)
}

func checkCRC(f *dataFile, e *entry, got uint32) error {
	if got == e.crc {
		return nil
	}
	return &CorruptError{Path: f.path, Key: e.key, Offset: e.offset, Reason: "checksum of the tensor", Want: e.crc, Got: got}
}

// join assembles a partitioned tensor.
func (r *Reader) join(e *entry) (*tensor.Tensor, error) {
	parts, err := r.parts(e)
	if err != nil {
		return nil, err
	}
	if e.dtype != tensor.String && e.dtype.Size() == 0 {
		return nil, fmt.Errorf("tensor %q: %w: %s", e.key, ErrUnsupported, e.dtype)
	}
	full := tensor.New(e.dtype, e.shape...)
	for i, p := range parts {
		t, err := r.read(p)
		if err != nil {
			return nil, err
		}
		paste(full, t, e.slices[i])
	}
	return full, nil
}

// parts returns the entries of a partitioned tensor's slices, after checking that they cover it.
func (r *Reader) parts(e *entry) ([]*entry, error) {
	bad := func(format string, args ...any) error {
		return &CorruptError{Path: IndexPath(r.prefix), Key: e.key, Reason: fmt.Sprintf(format, args...)}
	}
	if err := checkCover(e.slices, e.shape); err != nil {
		return nil, bad("%v", err)
	}
	parts := make([]*entry, len(e.slices))
	var stored int64
	for i, s := range e.slices {
		p := r.entries[sliceKey(e.key, s)]
		if p == nil || len(p.slices) > 0 {
			return nil, bad("slice %v is missing", s)
		}
		if shape, _ := s.shapeIn(e.shape); p.dtype != e.dtype || !slices.Equal(shape, p.shape) {
			return nil, bad("slice %v is a %s%v", s, p.dtype, p.shape)
		}
		parts[i], stored = p, stored+p.size
	}
	// Each element takes at least a byte, so this bounds what join allocates.
	if n := int64(tensor.NumElements(e.shape)); n > stored || stored > r.dataBytes() {
		return nil, bad("%d elements out of %d stored bytes", n, stored)
	}
	return parts, nil
}

func (r *Reader) dataBytes() (sum int64) {
	for _, f := range r.files {
		sum += f.size
	}
	return sum
}

// Close closes the data files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

// Shards returns the number of data files.
func (r *Reader) Shards() int { return r.shards }
