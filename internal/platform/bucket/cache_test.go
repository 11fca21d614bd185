package bucket

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func openedCache(t *testing.T, dir string, limit int64) *Cache {
	t.Helper()
	c, err := OpenCache(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCacheKeepsBlocks: blocks are found by object, version and number, even after a restart, but not if the file is damaged.
func TestCacheKeepsBlocks(t *testing.T) {
	dir := t.TempDir()
	c := openedCache(t, dir, 1<<20)
	v := Version{ETag: "e", Size: 9}
	c.put("s3://b/a", v, 1, []byte("block one"))
	c = openedCache(t, dir, 1<<20)
	if got := c.get("s3://b/a", v, 1, 9); string(got) != "block one" {
		t.Fatalf("got %q", got)
	}
	for name, got := range map[string][]byte{
		"another object":  c.get("s3://b/b", v, 1, 9),
		"another version": c.get("s3://b/a", Version{ETag: "f", Size: 9}, 1, 9),
		"another time":    c.get("s3://b/a", Version{ETag: "e", Size: 9, Time: time.Unix(1, 0)}, 1, 9),
		"another block":   c.get("s3://b/a", v, 2, 9),
		"another size":    c.get("s3://b/a", v, 1, 8),
		"no cache":        (*Cache)(nil).get("s3://b/a", v, 1, 9),
	} {
		if got != nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
	name := c.name("s3://b/a", v, 1)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[3] ^= 1
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.get("s3://b/a", v, 1, 9); got != nil {
		t.Errorf("a damaged file: got %q", got)
	}
}

// TestCacheIsBounded: the least recently used blocks are dropped, and files of ended processes are removed.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, cachingMark+"1")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	c := openedCache(t, dir, 1000)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("a file that was not completed: %v", err)
	}
	block := make([]byte, 100)
	for i := range int64(9) {
		c.put("o", Version{}, i, block)
		at := old.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(c.name("o", Version{}, i), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if c.get("o", Version{}, 0, 100) == nil { // makes it the newest
		t.Fatal("block 0 is gone")
	}
	c.put("o", Version{}, 9, block)
	for i, want := range []bool{true, false, false, true} {
		if got := c.get("o", Version{}, int64(i), 100) != nil; got != want {
			t.Errorf("block %d is there: %t, expected %t", i, got, want)
		}
	}
	if c.used > c.limit {
		t.Errorf("%d bytes are kept of at most %d", c.used, c.limit)
	}
	c.put("o", Version{}, 99, make([]byte, 2000))
	if c.get("o", Version{}, 99, 2000) != nil {
		t.Error("a block that is larger than the limit was kept")
	}
	c.limit, c.dir = 1000, filepath.Join(dir, "gone") // cannot be written
	c.put("o", Version{}, 100, block)
}

// TestCachesShareAFolder: blocks that other processes write count.
func TestCachesShareAFolder(t *testing.T) {
	dir := t.TempDir()
	several := []*Cache{openedCache(t, dir, 1000), openedCache(t, dir, 1000), openedCache(t, dir, 1000)}
	for i := range int64(9) {
		for k, c := range several {
			c.put(string(rune('a'+k)), Version{}, i, make([]byte, 96))
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 || len(files)*100 > 1300 {
		t.Errorf("got %d files of 100 bytes and %v, expected about 1000 bytes", len(files), err)
	}
}

// TestCachedFile: a second file of the object reads nothing from the store.
func TestCachedFile(t *testing.T) {
	content := pattern(2*blockBytes + 5)
	b, first := inMemory(t, content)
	c := openedCache(t, t.TempDir(), 1<<30)
	first.Cached(c, "mem://b/a")
	if got, err := io.ReadAll(first); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
	if err := first.Close(); err != nil { // waits for running reads
		t.Fatal(err)
	}
	second := OpenFile(t.Context(), b, "a", first.version)
	t.Cleanup(func() { second.Close() })
	second.Cached(c, "mem://b/a")
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(second); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
