package cublaslt

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/testkit"
)

// gpuMemory is memory of a GPU with a copy on the host; tests read and write only the copy.
type gpuMemory struct {
	at   driver.Ptr
	host arena
	room int
}

func (m *gpuMemory) alloc(bytes int) driver.Ptr {
	p := m.at + m.host.alloc(bytes) - arenaAt
	if len(m.host) > m.room {
		panic("the examples need more memory")
	}
	return p
}

func (m *gpuMemory) place(at uintptr) uintptr { return at - uintptr(m.at) + arenaAt }

func (m *gpuMemory) load(at uintptr, i int, t uintptr) float64 { return m.host.load(m.place(at), i, t) }

func (m *gpuMemory) store(at uintptr, i int, t uintptr, v float64) {
	m.host.store(m.place(at), i, t, v)
}

// TestProductsOnGPU runs NVIDIA's library from a graph, if there is a GPU.
func TestProductsOnGPU(t *testing.T) {
	d, err := libcuda.Open()
	if err != nil {
		t.Skipf("skipped: no GPU: %v", err)
	}
	c, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own := &noProducts{}
	p, err := Open(c, own, dylib.WheelFolders(dylib.CuBLASLt, filepath.Join(testkit.Root(), ".venv"))...)
	var missing *dylib.NotFoundError
	if errors.As(err, &missing) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const room = 1 << 20
	at, err1 := c.Alloc(room)
	workspace, err2 := c.Alloc(workspaceLimit)
	host, err3 := c.AllocHost(room)
	s, err4 := c.NewStream()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	m := &gpuMemory{at: at, room: room}
	all := examples(m)
	copy(host.Bytes(), m.host)
	if err := s.Upload(at, host.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		e.Workspace, e.WorkspaceBytes = workspace, workspaceLimit
		l, err := p.Plan(e.Product)
		if err != nil {
			t.Fatal(err)
		}
		// Kernels are loaded at their first launch, so it must precede the graph.
		if err := errors.Join(l.Issue(s), s.Synchronize()); err != nil {
			t.Fatalf("%+v: %v", e.Product, err)
		}
		g, err := s.Capture(func() error { return l.Issue(s) })
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Launch(s), s.Synchronize(), g.Close()); err != nil {
			t.Fatalf("%+v: %v", e.Product, err)
		}
	}
	if err := errors.Join(s.Download(host.Bytes(), at), s.Synchronize()); err != nil {
		t.Fatal(err)
	}
	copy(m.host, host.Bytes())
	refused := p.Refused()
	for _, e := range all {
		if s := shapeOf(e.Product, workspaceLimit); p.plans[s] != nil {
			e.check(t, m)
		}
	}
	t.Logf("%d of %d shapes are refused: %q", len(refused), len(all), refused)
	if err := errors.Join(p.Close(), s.Close(), host.Free(), c.Free(workspace), c.Free(at)); err != nil {
		t.Error(err)
	}
}
