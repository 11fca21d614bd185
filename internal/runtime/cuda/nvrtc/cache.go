package nvrtc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Cache is a Compiler that caches results by text, architecture and the compiler's version.
type Cache struct {
	of  Compiler
	fs  atomicfile.FS
	dir string

	mu   sync.Mutex
	done map[string]*entry
}

type entry struct {
	once sync.Once
	ptx  []byte
	err  error
}

// NewCache makes a cache for a compiler, with files in dir. If dir is "", it caches only in memory.
func NewCache(of Compiler, dir string) *Cache {
	return &Cache{of: of, fs: atomicfile.OS{}, dir: dir, done: map[string]*entry{}}
}

// DefaultDir returns the user's directory for compiled kernels, "" if the system has none.
func DefaultDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "goestimator", "ptx")
}

// Version returns the compiler's version.
func (c *Cache) Version() int { return c.of.Version() }

// Compile returns the cached result, or compiles. It compiles a program at most once at a time. Failures are not cached. It is
// no failure if the directory cannot be written: the next process then compiles again.
func (c *Cache) Compile(ctx context.Context, s Source, arch Arch) ([]byte, error) {
	key := c.key(s, arch)
	c.mu.Lock()
	e := c.done[key]
	if e == nil {
		e = &entry{}
		c.done[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.ptx, e.err = c.make(ctx, key, s, arch) })
	if e.err != nil {
		c.mu.Lock()
		if c.done[key] == e {
			delete(c.done, key)
		}
		c.mu.Unlock()
	}
	return e.ptx, e.err
}

func (c *Cache) key(s Source, arch Arch) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", c.of.Version(), arch, s.Text))
	return hex.EncodeToString(sum[:])
}

func (c *Cache) make(ctx context.Context, key string, s Source, arch Arch) ([]byte, error) {
	if ptx, ok := c.read(key); ok {
		return ptx, nil
	}
	ptx, err := c.of.Compile(ctx, s, arch)
	if err != nil {
		return nil, err
	}
	if c.dir != "" && atomicfile.MkdirAll(c.fs, c.dir) == nil {
		// If this fails, the next process compiles again.
		_ = atomicfile.WriteFile(c.fs, c.path(key), withChecksum(ptx))
	}
	return ptx, nil
}

func (c *Cache) path(key string) string { return filepath.Join(c.dir, key+".ptx") }

// read returns a file's PTX. A damaged file counts as missing and is written again.
func (c *Cache) read(key string) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	b, err := atomicfile.ReadFile(c.fs, c.path(key))
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	ptx := b[sha256.Size:]
	sum := sha256.Sum256(ptx)
	return ptx, string(sum[:]) == string(b[:sha256.Size])
}

// withChecksum puts the checksum before the text.
func withChecksum(ptx []byte) []byte {
	sum := sha256.Sum256(ptx)
	return append(sum[:], ptx...)
}
