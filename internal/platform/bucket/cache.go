package bucket

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cache keeps blocks of objects in a local folder, each in its own file, named by a hash of the object's URL, its version and the block's
// number. Several processes may share a folder. A block that cannot be kept is not an error: it is read from the store again.
type Cache struct {
	dir   string
	limit int64 // bytes

	mu    sync.Mutex
	used  int64 // by all files, as far as this process knows
	fresh int64 // part of used that was written since the last look at the folder
}

const (
	cachedSuffix = ".block"
	cachingMark  = ".new-" // begins the name of a file that is being written
	cacheSum     = 4       // bytes of the checksum after a block
	// staleAfter is the age at which a file that is being written counts as left by a process that ended.
	staleAfter = time.Hour
)

var cacheTable = crc32.MakeTable(crc32.Castagnoli)

// OpenCache opens a folder for up to limit bytes, and makes it if necessary.
func OpenCache(dir string, limit int64) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("folder for parts of objects: %w", err)
	}
	c := &Cache{dir: dir, limit: limit}
	if err := c.trim(); err != nil {
		return nil, fmt.Errorf("folder for parts of objects: %w", err)
	}
	return c, nil
}

// name is the file of a block.
func (c *Cache) name(object string, v Version, i int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%d", object, v.ETag, v.Size, v.Time.UnixNano(), i))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+cachedSuffix)
}

// get returns a block of n bytes, or nil if it is missing or damaged.
func (c *Cache) get(object string, v Version, i int64, n int) []byte {
	if c == nil {
		return nil
	}
	name := c.name(object, v, i)
	text, err := os.ReadFile(name)
	if err != nil || len(text) != n+cacheSum || binary.LittleEndian.Uint32(text[n:]) != crc32.Checksum(text[:n], cacheTable) {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // a use: the least recently used are dropped first
	return text[:n:n]
}

// put stores a block.
func (c *Cache) put(object string, v Version, i int64, data []byte) {
	if c == nil || int64(len(data)) > c.limit {
		return
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(data, cacheTable))
	if err := c.write(c.name(object, v, i), data, sum); err != nil {
		return
	}
	c.mu.Lock()
	size := int64(len(data) + len(sum))
	c.used, c.fresh = c.used+size, c.fresh+size
	full := c.used > c.limit || c.fresh > c.limit/10 // other processes write there, too
	c.mu.Unlock()
	if full {
		_ = c.trim() // the next block tries again
	}
}

// write writes a file that appears only when it is complete.
func (c *Cache) write(name string, parts ...[]byte) error {
	f, err := os.CreateTemp(c.dir, cachingMark)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err == nil {
			_, err = f.Write(p)
		}
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // there already is an error to report
	}
	return err
}

// trim drops the least recently used blocks if the limit is exceeded, until a tenth of it is free.
func (c *Cache) trim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var blocks []fs.FileInfo
	c.used, c.fresh = 0, 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // another process has dropped it, or it is not a cache file
		}
		switch name := e.Name(); {
		case strings.HasPrefix(name, cachingMark) && time.Since(info.ModTime()) > staleAfter:
			_ = os.Remove(filepath.Join(c.dir, name))
		case strings.HasSuffix(name, cachedSuffix):
			blocks = append(blocks, info)
			c.used += info.Size()
		}
	}
	if c.used <= c.limit {
		return nil
	}
	slices.SortFunc(blocks, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, b := range blocks {
		if c.used <= c.limit-c.limit/10 {
			break
		}
		if err := os.Remove(filepath.Join(c.dir, b.Name())); err == nil || os.IsNotExist(err) {
			c.used -= b.Size()
		}
	}
	return nil
}
