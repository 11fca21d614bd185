package drivertest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// RunPeers tests that a driver with at least two GPUs copies between them. A fake driver must have Kernel registered.
func RunPeers(t *testing.T, d driver.Driver) {
	t.Helper()
	all, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		t.Skipf("skipped: %d GPU", len(all))
	}
	var rigs [2]*rig
	for i := range rigs {
		c, err := d.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		rigs[i] = &rig{t: t, d: d, c: c}
		t.Cleanup(rigs[i].close)
	}
	a, b := rigs[0], rigs[1]
	for range 2 { // the second time the path is already open
		if _, err := a.c.(driver.PeerContext).Reach(b.c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.c.(driver.PeerContext).Reach(a.c); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a context and itself: expected %v, got %v", driver.ErrInvalid, err)
	}
	t.Run("copies", func(t *testing.T) { peerCopies(t, a, b) })
	t.Run("order", func(t *testing.T) { peerOrder(t, a, b) })
}

func peerCopies(t *testing.T, a, b *rig) {
	const n = 999
	sa, sb, pa, pb, up, down := a.stream(), b.stream(), a.alloc(n), b.alloc(n), b.pinned(n), a.pinned(n)
	for i := range up {
		up[i] = byte(i * 5)
	}
	a.ok(sb.Upload(pb, up))
	a.ok(sb.Synchronize())
	peer := sa.(driver.PeerStream)
	a.ok(peer.CopyPeer(pa+1, b.c, pb+1, n-1))
	a.ok(peer.CopyPeer(pa, b.c, pb, 1))
	a.ok(peer.CopyPeer(pa, b.c, pb, 0))
	a.ok(sa.Download(down, pa))
	a.ok(sa.Synchronize())
	if !bytes.Equal(down, up) {
		t.Error("the bytes differ")
	}
	for what, err := range map[string]error{"a context and itself": peer.CopyPeer(pa, a.c, pa, 1), "an address that is none": peer.CopyPeer(pa, b.c, 8, 1)} {
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: expected %v, got %v", what, driver.ErrInvalid, err)
		}
	}
}

// peerOrder tests that a copy waits for work of the other GPU.
func peerOrder(t *testing.T, a, b *rig) {
	const n, launches = 256, 50
	sa, sb, pa, pb, f, e, down := a.stream(), b.stream(), a.alloc(4*n), b.alloc(4*n), b.function(), b.event(), a.pinned(4*n)
	peer := sa.(driver.PeerStream)
	a.ok(peer.WaitPeer(e)) // nothing was recorded
	a.ok(sb.Fill(pb, 0, 4*n))
	for range launches {
		a.ok(sb.Launch(f, add(pb, 1, n)))
	}
	a.ok(sb.Record(e))
	a.ok(peer.WaitPeer(e))
	a.ok(peer.CopyPeer(pa, b.c, pb, 4*n))
	a.ok(sa.Download(down, pa))
	a.ok(sa.Synchronize())
	expectAll(t, down, launches)
}
