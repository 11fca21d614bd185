package bundle

import (
	"bufio"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/table"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/goestimator/goestimator/tensor"
)

// The points of a write at which tests simulate a crash.
var (
	fpDataCreated  = failpoint.New("bundle/data-created")
	fpDataWritten  = failpoint.New("bundle/data-written")
	fpDataSynced   = failpoint.New("bundle/data-synced")
	fpDataRenamed  = failpoint.New("bundle/data-renamed")
	fpDataDurable  = failpoint.New("bundle/data-durable")
	fpIndexCreated = failpoint.New("bundle/index-created")
	fpIndexWritten = failpoint.New("bundle/index-written")
	fpIndexSynced  = failpoint.New("bundle/index-synced")
	fpIndexRenamed = failpoint.New("bundle/index-renamed")
	fpDirSynced    = failpoint.New("bundle/dir-synced")
)

// tableOptions equal the options of TensorFlow's index writer.
var tableOptions = &opt.Options{
	Compression: opt.NoCompression, BlockSize: 262144, BlockRestartInterval: 16,
}

const writeBuffer = 1 << 20

// Writer writes one bundle. None of it is visible under its final names
// before Finish, and a reader that finds the index finds the data. The prefix
// must be new: a bundle cannot be replaced in place atomically, since its files
// cannot be renamed together.
type Writer struct {
	fs      atomicfile.FS
	prefix  string
	shards  []*shard
	entries map[string]*entry
	parts   bool // see Parts
	err     error
}

// shard is one data file being written.
type shard struct {
	path      string
	file      *atomicfile.Pending
	buf       *bufio.Writer
	size      int64
	committed bool
}

// NewWriter starts a bundle with the given number of data files, usually 1.
// Call Finish or Discard at the end.
func NewWriter(fsys atomicfile.FS, prefix string, shards int) (*Writer, error) {
	if shards < 1 || shards > 99999 {
		return nil, fmt.Errorf("%d data files: expected 1 to 99999", shards)
	}
	w := &Writer{fs: fsys, prefix: prefix, entries: map[string]*entry{}}
	for i := range shards {
		path := DataPath(prefix, i, shards)
		f, err := atomicfile.Create(fsys, path)
		if err != nil {
			w.Discard()
			return nil, err
		}
		w.shards = append(w.shards, &shard{path: path, file: f, buf: bufio.NewWriterSize(f, writeBuffer)})
	}
	if err := fpDataCreated.Here(); err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// Add appends a tensor to the emptiest data file. The data is in the order of the
// calls; equal calls give equal files.
func (w *Writer) Add(name string, t *tensor.Tensor) error {
	if w.err == nil && (name == "" || isSliceKey(name)) {
		w.err = fmt.Errorf("tensor name %q: expected one that is not empty and does not begin with a zero byte", name)
	}
	if w.err == nil {
		w.err = w.add(name, t)
	}
	return w.err
}

// AddSlice appends a part of a partitioned tensor with the shape full. By Finish, the
// parts added under one name must cover it exactly once.
func (w *Writer) AddSlice(name string, full []int, s Slice, part *tensor.Tensor) error {
	if w.err == nil {
		w.err = w.addSlice(name, full, s, part)
	}
	return w.err
}

func (w *Writer) addSlice(name string, full []int, s Slice, part *tensor.Tensor) error {
	shape, err := s.shapeIn(full)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if !slices.Equal(shape, part.Shape) {
		return fmt.Errorf("tensor %q: slice %v has shape %v, got %v", name, s, shape, part.Shape)
	}
	if slices.Equal(shape, full) {
		return w.add(name, part) // TensorFlow stores a slice that covers everything as the tensor itself
	}
	e := w.entries[name]
	if e != nil && len(e.slices) == 0 {
		return fmt.Errorf("adding duplicate key: %q", name)
	}
	if e == nil {
		e = &entry{key: name, dtype: part.DType, shape: slices.Clone(full)}
		w.entries[name] = e
	}
	if e.dtype != part.DType || !slices.Equal(e.shape, full) {
		return fmt.Errorf("tensor %q: slice of %s%v, the others are of %s%v", name, part.DType, full, e.dtype, e.shape)
	}
	if err := w.add(sliceKey(name, s), part); err != nil {
		return err
	}
	e.slices = append(e.slices, slices.Clone(s))
	return nil
}

func (w *Writer) add(key string, t *tensor.Tensor) error {
	if w.entries[key] != nil {
		return fmt.Errorf("adding duplicate key: %q", key)
	}
	if err := checkTensor(t); err != nil {
		return fmt.Errorf("tensor %q: %w", key, err)
	}
	n := 0
	for i, s := range w.shards {
		if s.size < w.shards[n].size {
			n = i
		}
	}
	s := w.shards[n]
	e := &entry{key: key, dtype: t.DType, shape: slices.Clone(t.Shape), shard: n, offset: s.size}
	parts := [][]byte{t.Bytes}
	if t.DType == tensor.String {
		head, crc := stringHead(t.Strings)
		parts = append([][]byte{head}, t.Strings...)
		for _, p := range t.Strings {
			crc = maskedcrc.Update(crc, p)
		}
		e.crc = maskedcrc.Mask(crc)
	} else {
		e.crc = maskedcrc.Of(t.Bytes)
	}
	for _, p := range parts {
		if _, err := s.buf.Write(p); err != nil {
			return err
		}
		e.size += int64(len(p))
	}
	s.size += e.size
	w.entries[key] = e
	return nil
}

func checkTensor(t *tensor.Tensor) error {
	n := tensor.NumElements(t.Shape)
	switch {
	case t.DType == tensor.String:
		if len(t.Strings) != n {
			return fmt.Errorf("shape %v holds %d elements, got %d strings", t.Shape, n, len(t.Strings))
		}
	case t.DType.Size() == 0:
		return fmt.Errorf("%w: %s", ErrUnsupported, t.DType)
	case len(t.Bytes) != n*t.DType.Size():
		return fmt.Errorf("%s%v takes %d bytes, got %d", t.DType, t.Shape, n*t.DType.Size(), len(t.Bytes))
	}
	return nil
}

// Finish makes the bundle durable and visible: it syncs and renames each data file,
// syncs the directory, then does the same for the index. After an error
// nothing of the bundle is left, unless only the last sync of the directory failed.
func (w *Writer) Finish() error {
	err := w.err
	for _, step := range []func() error{w.checkSlices, w.commitData, w.commitIndex} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		w.Discard()
		return err
	}
	w.shards = nil
	return firstError(fpIndexRenamed.Here, w.syncDir, fpDirSynced.Here)
}

func (w *Writer) checkSlices() error {
	for _, e := range w.entries {
		if len(e.slices) == 0 || w.parts {
			continue
		}
		if err := checkCover(e.slices, e.shape); err != nil {
			return fmt.Errorf("tensor %q: %w", e.key, err)
		}
	}
	return nil
}

func (w *Writer) commitData() error {
	for _, s := range w.shards {
		err := firstError(s.buf.Flush, fpDataWritten.Here, s.file.Sync, fpDataSynced.Here, s.file.Commit)
		if err != nil {
			return err
		}
		s.committed = true
		if err := fpDataRenamed.Here(); err != nil {
			return err
		}
	}
	// The names of the data files must be durable before the index's name is.
	return firstError(w.syncDir, fpDataDurable.Here)
}

func (w *Writer) syncDir() error { return atomicfile.SyncDir(w.fs, filepath.Dir(w.prefix)) }

func (w *Writer) commitIndex() error {
	f, err := atomicfile.Create(w.fs, IndexPath(w.prefix))
	if err != nil {
		return err
	}
	defer f.Discard()
	return firstError(fpIndexCreated.Here, func() error { return w.writeIndex(f) },
		fpIndexWritten.Here, f.Sync, fpIndexSynced.Here, f.Commit)
}

func (w *Writer) writeIndex(f *atomicfile.Pending) error {
	// Deterministic, since equal bundles must be equal byte for byte.
	marshal := proto.MarshalOptions{Deterministic: true}
	value, err := marshal.Marshal(header(len(w.shards)))
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	t := table.NewWriter(buf, tableOptions)
	if err := t.Append(nil, value); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(w.entries)) {
		if value, err = marshal.Marshal(w.entries[k].toProto()); err != nil {
			return err
		}
		if err := t.Append([]byte(k), value); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// Discard removes what was written. After Finish it does nothing, so it may
// be deferred.
func (w *Writer) Discard() {
	for _, s := range w.shards {
		if s.committed {
			_ = w.fs.Remove(s.path)
		} else {
			s.file.Discard()
		}
	}
	w.shards = nil
}

func firstError(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}
