package device

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// locked is a device's page-locked memory, simulated in ordinary memory and limited in size.
type locked struct {
	mu   sync.Mutex
	left int
	held map[*lockedBlock]bool
	made int
	// stuck is the error of every Free, which frees nonetheless.
	stuck error
}

type lockedBlock struct {
	of  *locked
	mem []byte
}

var (
	errFull  = errors.New("no more page-locked memory")
	errStuck = errors.New("it cannot be unlocked")
)

func newLocked(bytes int) *locked { return &locked{left: bytes, held: map[*lockedBlock]bool{}} }

func (d *locked) AllocHost(n int) (HostBuffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > d.left {
		return nil, errFull
	}
	d.left -= n
	d.made++
	b := &lockedBlock{d, make([]byte, n)}
	d.held[b] = true
	return b, nil
}

func (b *lockedBlock) Bytes() []byte { return b.mem }

func (b *lockedBlock) Free() error {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if !b.of.held[b] {
		return ErrBuffer
	}
	delete(b.of.held, b)
	b.of.left += len(b.mem)
	return b.of.stuck
}

// has reports whether b lies in the device's memory.
func (d *locked) has(b []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for h := range d.held {
		if unsafe.SliceData(h.mem) == unsafe.SliceData(b) {
			return true
		}
	}
	return false
}

func TestPinnedPoolReuses(t *testing.T) {
	d := newLocked(1 << 30)
	l := NewPinnedPool(d, 1<<20)
	first := l.Allocate(100 << 10)
	if !d.has(first) || len(first) != 100<<10 {
		t.Fatalf("expected page-locked memory, got %d bytes of the heap", len(first))
	}
	l.Free(first)
	again := l.Allocate(101 << 10)
	if unsafe.SliceData(again) != unsafe.SliceData(first) || d.made != 1 {
		t.Errorf("expected the same block, got another; %d were made", d.made)
	}
	if small := l.Allocate(100); d.has(small) || l.Prefers(small) {
		t.Error("expected ordinary memory for 100 bytes")
	}
	if l.Prefers(again) || l.Prefers(again[1<<10:]) {
		t.Error("expected nothing to gain for memory of the pool")
	}
	if !l.Prefers(make([]byte, 200<<10)) || l.Prefers(make([]byte, 2<<20)) {
		t.Error("expected to gain for ordinary memory, as far as there is room")
	}
	copy(again, "abc")
	more := l.Reallocate(500<<10, again)
	if !d.has(more) || !bytes.HasPrefix(more, []byte("abc")) {
		t.Error("expected the same contents in a larger block")
	}
	l.Free(more)
	if err := l.Close(nil); err != nil || len(d.held) != 0 {
		t.Errorf("expected all memory back, got %v, %d blocks are left", err, len(d.held))
	}
	if late := l.Allocate(1 << 17); d.has(late) || l.Prefers(late) {
		t.Error("closed: expected ordinary memory")
	}
}

// TestPinnedPoolBeyondItsLimit checks that ordinary memory is used then, and that free blocks make room for others.
func TestPinnedPoolBeyondItsLimit(t *testing.T) {
	for name, l := range map[string]struct{ device, limit int }{"the limit": {1 << 30, 256 << 10}, "the device": {256 << 10, 1 << 30}} {
		d := newLocked(l.device)
		l := NewPinnedPool(d, l.limit)
		a, b := l.Allocate(128<<10), l.Allocate(128<<10)
		c := l.Allocate(128 << 10)
		if !d.has(a) || !d.has(b) || d.has(c) || len(c) != 128<<10 {
			t.Errorf("%s: expected two blocks and ordinary memory", name)
		}
		l.Free(a)
		l.Free(b)
		l.Free(c)
		if name == "the limit" {
			if f := l.Allocate(512 << 10); d.has(f) || len(d.held) != 2 {
				t.Errorf("%s: expected free blocks to stay where they do not make enough room, %d are left", name, len(d.held))
			}
		}
		if e := l.Allocate(192 << 10); !d.has(e) {
			t.Errorf("%s: expected free blocks to make room", name)
		} else {
			l.Free(e)
		}
		if err := l.Close(nil); err != nil || len(d.held) != 0 {
			t.Errorf("%s: %v, %d blocks left", name, err, len(d.held))
		}
	}
}

// TestPinnedPoolClosedWhileInUse: memory in use stays valid, and is freed when it is returned.
func TestPinnedPoolClosedWhileInUse(t *testing.T) {
	d := newLocked(1 << 30)
	l := NewPinnedPool(d, 1<<30)
	a, b := l.Allocate(1<<20), l.Allocate(1<<20)
	ended := 0
	if err := l.Close(func(err error) {
		if ended++; !errors.Is(err, errStuck) {
			t.Errorf("expected the device's error, got %v", err)
		}
	}); !errors.Is(err, ErrPinnedInUse) {
		t.Errorf("expected ErrLent, got %v", err)
	}
	d.stuck = errStuck
	l.Free(b)
	if a[5] = 1; !d.has(a) || ended != 0 {
		t.Error("expected the memory to stay")
	}
	l.Free(a)
	if ended != 1 {
		t.Errorf("expected to hear of the last piece once, got %d times", ended)
	}
	if err := l.Close(nil); err != nil || len(d.held) != 0 {
		t.Errorf("%v, %d blocks are left", err, len(d.held))
	}
}

// TestPinnedPoolProperty allocates and frees at random, also by several goroutines, and looks for memory that two users got.
func TestPinnedPoolProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newLocked(rapid.IntRange(0, 4<<20).Draw(t, "device"))
		l := NewPinnedPool(d, rapid.IntRange(0, 4<<20).Draw(t, "limit"))
		sizes := rapid.SliceOfN(rapid.IntRange(0, 300<<10), 1, 12).Draw(t, "sizes")
		var wg sync.WaitGroup
		var mixed sync.Once
		bad := false
		for w := range 3 {
			wg.Go(func() {
				var mine [][]byte
				for i, n := range sizes {
					b := l.Allocate(n)
					for k := range b {
						b[k] = byte(w)
					}
					mine = append(mine, b)
					if i%3 == 2 {
						l.Free(mine[0])
						mine = mine[1:]
					}
				}
				for _, b := range mine {
					if bytes.Count(b, []byte{byte(w)}) != len(b) {
						mixed.Do(func() { bad = true })
					}
					l.Free(b)
				}
			})
		}
		wg.Wait()
		if bad {
			t.Error("memory was handed out twice")
		}
		if err := l.Close(nil); err != nil || len(d.held) != 0 {
			t.Errorf("%v, %d blocks are left", err, len(d.held))
		}
	})
}
