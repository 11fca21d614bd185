package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"gocloud.dev/blob"
)

// A File holds at most kept blocks of its object; ahead blocks are read in advance.
const (
	blockBytes = 2 << 20
	ahead      = 3
	kept       = 8
)

// File is an object open for reading, in blocks of 2 MiB. The last eight blocks stay in memory; when blocks are read in sequence, the next
// three are read ahead. ReadAt may be called concurrently.
type File struct {
	ctx     context.Context // ends all reads
	stop    context.CancelFunc
	bucket  *blob.Bucket
	key     string
	version Version
	cache   *Cache // nil: none
	object  string // its name in the cache
	pos     int64  // of Read
	failed  error  // of Read, until Seek: format detection reads the start several times, and a silent store is slow each time

	mu     sync.Mutex
	blocks map[int64]*block
	clock  int64 // counts uses
	reads  sync.WaitGroup
}

// block is a part of the object. When done is closed, the data is complete or err is set.
type block struct {
	done chan struct{}
	data []byte
	err  error
	used int64
}

// OpenFile opens a version of an object. All reads end with ctx, and with Close.
func OpenFile(ctx context.Context, b *blob.Bucket, key string, v Version) *File {
	f := &File{bucket: b, key: key, version: v, blocks: map[int64]*block{}}
	f.ctx, f.stop = context.WithCancel(ctx)
	return f
}

// Cached makes the file use a cache for its blocks, which are named by the object's URL. Call it before the first read.
func (f *File) Cached(c *Cache, object string) { f.cache, f.object = c, object }

// Size is the number of bytes.
func (f *File) Size() int64 { return f.version.Size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, fmt.Errorf("offset %d is negative", at)
	}
	for n < len(p) {
		if at >= f.version.Size {
			return n, io.EOF
		}
		b := f.block(at / blockBytes)
		<-b.done
		if b.err != nil {
			return n, b.err
		}
		k := copy(p[n:], b.data[at%blockBytes:])
		n, at = n+k, at+int64(k)
	}
	return n, nil
}

// Read implements io.Reader. It returns data of the current block only.
func (f *File) Read(p []byte) (int, error) {
	if len(p) == 0 || f.failed != nil {
		return 0, f.failed
	}
	p = p[:min(len(p), int(blockBytes-f.pos%blockBytes))]
	n, err := f.ReadAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	if !errors.Is(err, io.EOF) {
		f.failed = err
	}
	return n, err
}

// Seek implements io.Seeker.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += f.version.Size
	}
	if offset < 0 {
		return f.pos, fmt.Errorf("seek to %d, before the object", offset)
	}
	f.pos, f.failed = offset, nil
	return offset, nil
}

// Close ends all reads and waits for them.
func (f *File) Close() error {
	f.stop()
	f.mu.Lock()
	f.blocks = nil
	f.mu.Unlock()
	f.reads.Wait()
	return nil
}

// block returns block i, which may still be read.
func (f *File) block(i int64) *block {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blocks == nil {
		done := make(chan struct{})
		close(done)
		return &block{done: done, err: fs.ErrClosed}
	}
	_, before := f.blocks[i-1]
	b := f.load(i)
	if before || i == 0 && f.version.Size > blockBytes {
		for k := i + 1; k <= i+ahead && k*blockBytes < f.version.Size; k++ {
			f.load(k)
		}
	}
	f.drop(i)
	return b
}

// load returns block i, and begins to read it if it is missing. Held: f.mu.
func (f *File) load(i int64) *block {
	f.clock++
	b := f.blocks[i]
	if b == nil {
		b = &block{done: make(chan struct{})}
		f.blocks[i] = b
		f.reads.Go(func() { f.fetch(i, b) })
	}
	b.used = f.clock
	return b
}

// fetch reads a block. A failed block is read again at the next request for it.
func (f *File) fetch(i int64, b *block) {
	defer close(b.done)
	size := min(blockBytes, f.version.Size-i*blockBytes)
	if b.data = f.cache.get(f.object, f.version, i, int(size)); b.data != nil {
		return
	}
	data := make([]byte, size)
	if err := readRange(f.ctx, f.bucket, f.key, f.version, i*blockBytes, data); err != nil {
		b.err = Explain(err)
		f.mu.Lock()
		if f.blocks[i] == b {
			delete(f.blocks, i)
		}
		f.mu.Unlock()
		return
	}
	f.cache.put(f.object, f.version, i, data)
	b.data = data
}

// drop forgets the least recently used blocks. Held: f.mu.
func (f *File) drop(present int64) {
	for len(f.blocks) > kept {
		oldest := present
		for i, b := range f.blocks {
			if i != present && (oldest == present || b.used < f.blocks[oldest].used) {
				oldest = i
			}
		}
		delete(f.blocks, oldest)
	}
}
