package nvrtc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// counter is a compiler that only counts.
type counter struct {
	mu    sync.Mutex
	calls int
	err   error
}

func (c *counter) Version() int { return 12040 }

func (c *counter) Compile(_ context.Context, s Source, _ Arch) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return []byte("ptx of " + s.Text), c.err
}

func TestCacheCompilesOnce(t *testing.T) {
	of, dir := &counter{}, filepath.Join(t.TempDir(), "ptx")
	c := NewCache(of, dir)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if ptx, err := c.Compile(t.Context(), Source{"a", "text"}, 80); err != nil || string(ptx) != "ptx of text" {
				t.Errorf("got %q, %v", ptx, err)
			}
		})
	}
	wg.Wait()
	if of.calls != 1 {
		t.Errorf("expected one compilation, got %d", of.calls)
	}
	if _, err := NewCache(of, dir).Compile(t.Context(), Source{"b", "text"}, 80); err != nil || of.calls != 1 {
		t.Errorf("from the file: got %d compilations, %v", of.calls, err)
	}
	for _, other := range []struct {
		text string
		arch Arch
	}{{"text", 90}, {"other", 80}} {
		if _, err := c.Compile(t.Context(), Source{"a", other.text}, other.arch); err != nil {
			t.Error(err)
		}
	}
	if of.calls != 3 {
		t.Errorf("expected three programs, got %d", of.calls)
	}
}

func TestCacheReplacesADamagedFile(t *testing.T) {
	of, dir := &counter{}, t.TempDir()
	src := Source{"a", "text"}
	if _, err := NewCache(of, dir).Compile(t.Context(), src, 80); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ptx"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{b[:len(b)-1], nil, b[:10]} {
		if err := os.WriteFile(files[0], damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		before := of.calls
		if ptx, err := NewCache(of, dir).Compile(t.Context(), src, 80); err != nil || string(ptx) != "ptx of text" || of.calls != before+1 {
			t.Errorf("%d bytes: got %q, %v after %d compilations", len(damaged), ptx, err, of.calls-before)
		}
	}
}

func TestCacheForgetsFailures(t *testing.T) {
	of := &counter{err: errors.New("boom")}
	c := NewCache(of, "")
	if _, err := c.Compile(t.Context(), Source{}, 80); !errors.Is(err, of.err) {
		t.Errorf("got %v", err)
	}
	of.err = nil
	if _, err := c.Compile(t.Context(), Source{}, 80); err != nil {
		t.Errorf("second try: %v", err)
	}
}
