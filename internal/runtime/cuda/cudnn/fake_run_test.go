//go:build linux && (amd64 || arm64) && !static

package cudnn

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

// fakeTensor is the contents of a tensor's descriptor.
type fakeTensor struct {
	id, dataType  int
	dims, strides [4]int
	virtual       bool
}

// fakeGraph is the contents of a graph's descriptors.
type fakeGraph struct {
	kind           int // kind of the convolution
	x, w, y        fakeTensor
	bias           *fakeTensor
	relu           bool
	last           fakeTensor // the result of the last operation
	pre, post      [2]int
	stride, dilate [2]int
	compute        int
}

func (f *fakeLibrary) tensor(d uintptr) (t fakeTensor) {
	o := f.objects[d]
	t = fakeTensor{id: o.attrs[tensorID].int64(0), dataType: o.number(tensorDataType), virtual: o.attrs[tensorVirtual].bytes[0] == 1}
	for i := range 4 {
		t.dims[i], t.strides[i] = o.attrs[tensorDims].int64(i), o.attrs[tensorStrides].int64(i)
	}
	return t
}

func (f *fakeLibrary) graphOf(d uintptr) (g fakeGraph) {
	ops := f.objects[d].attrs[graphOps]
	for i := range ops.n {
		o := f.objects[ops.pointer(i)]
		names := map[int][4]int{kindForward: {forwardX, forwardW, forwardY, forwardConv}, kindInputGradient: {inputDX, inputW, inputDY, inputConv}, kindFilterGradient: {filterX, filterDW, filterDY, filterConv}}
		if n, ok := names[o.kind]; ok {
			g.kind = o.kind
			g.x, g.w, g.y = f.tensor(o.descriptor(n[0])), f.tensor(o.descriptor(n[1])), f.tensor(o.descriptor(n[2]))
			c := f.objects[o.descriptor(n[3])]
			g.compute, g.last = c.number(convolutionCompute), g.y
			for j := range 2 {
				g.pre[j], g.post[j] = c.attrs[convolutionPre].int64(j), c.attrs[convolutionPost].int64(j)
				g.stride[j], g.dilate[j] = c.attrs[convolutionStrides].int64(j), c.attrs[convolutionDilations].int64(j)
			}
			continue
		}
		if f.tensor(o.descriptor(pointwiseX)) != g.last {
			f.status(false, "the operations of a graph do not follow each other")
		}
		switch f.objects[o.descriptor(pointwiseDescriptor)].number(pointwiseMode) {
		case pointwiseAdd:
			b := f.tensor(o.descriptor(pointwiseB))
			g.bias = &b
		case pointwiseRelu:
			g.relu = true
		}
		g.last = f.tensor(o.descriptor(pointwiseY))
	}
	return g
}

// checkGraph checks that the sizes match, as cuDNN's finalize does.
func (f *fakeLibrary) checkGraph(g fakeGraph, o *fakeObject) uintptr {
	ok := o.descriptor(graphHandle) == f.handle && g.compute == dataFloat && !g.last.virtual && g.last.id == idY && g.x.dims[0] == g.y.dims[0] && g.x.dims[1] == g.w.dims[1] && g.w.dims[0] == g.y.dims[1]
	for i := range 2 {
		span := (g.w.dims[2+i]-1)*g.dilate[i] + 1
		ok = ok && g.y.dims[2+i] == (g.x.dims[2+i]+g.pre[i]+g.post[i]-span)/g.stride[i]+1 && g.pre[i] >= 0 && g.post[i] >= 0
	}
	return f.status(ok, "graph %+v", g)
}

// fakeJob is an executed plan.
type fakeJob struct {
	graph  fakeGraph
	engine fakeEngine
}

// execute issues the work to the stream, as a kernel with the addresses as arguments.
func (f *fakeLibrary) execute(h, plan, pack uintptr) uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, v := f.objects[plan], f.objects[pack]
	if h != f.handle || !f.current || p == nil || p.kind != kindPlan || v == nil || v.kind != kindVariantPack {
		return f.status(false, "execute %+v with %+v", p, v)
	}
	g, ok := f.graphs[f.objects[p.descriptor(planConfig)]]
	places := map[int]uintptr{}
	for i := range v.attrs[packIDs].n {
		places[v.attrs[packIDs].int64(i)] = v.attrs[packPointers].pointer(i)
	}
	if !ok || v.attrs[packIDs].n != v.attrs[packPointers].n || places[idX] == 0 || places[idW] == 0 || places[idY] == 0 || (g.bias != nil) != (places[idBias] != 0) {
		return f.status(false, "places %v for %+v", places, g)
	}
	f.jobs = append(f.jobs, fakeJob{g, p.engine})
	workspace := uintptr(0)
	if p.engine.workspace > 0 {
		workspace = v.attrs[packWorkspace].pointer(0)
	}
	args := []driver.Arg{driver.Int64(int64(len(f.jobs) - 1))}
	for _, at := range []uintptr{places[idX], places[idW], places[idY], places[idBias], workspace} {
		args = append(args, driver.Address(driver.Ptr(at)))
	}
	err := f.streams[f.stream].Launch(f.run, driver.Launch{Grid: driver.Dim{X: 1}, Block: driver.Dim{X: 1}, Args: args})
	return f.status(err == nil, "launch: %v", err)
}

// compute does a job when the stream reaches it.
func (f *fakeLibrary) compute(c *fake.Call) error {
	f.mu.Lock()
	job := f.jobs[c.Args[0]]
	f.mu.Unlock()
	var mem [6][]byte
	for i := 1; i < 6; i++ {
		var err error
		if c.Args[i] == 0 {
			continue
		}
		if mem[i], err = c.Memory(i); err != nil {
			return err
		}
	}
	if n := job.engine.workspace; n > 0 {
		if int64(len(mem[5])) < n {
			return fmt.Errorf("workspace: expected %d bytes, got %d", n, len(mem[5]))
		}
		for i := range mem[5][:n] {
			mem[5][i] = 0xEE
		}
	}
	g := job.graph
	w := host.Window{Batch: g.x.dims[0], InC: g.x.dims[1], InH: g.x.dims[2], InW: g.x.dims[3], OutC: g.y.dims[1], OutH: g.y.dims[2], OutW: g.y.dims[3],
		KH: g.w.dims[2], KW: g.w.dims[3], StrideH: g.stride[0], StrideW: g.stride[1], DilH: g.dilate[0], DilW: g.dilate[1], PadTop: g.pre[0], PadLeft: g.pre[1]}
	nhwc, hwio := [4]int{0, 2, 3, 1}, [4]int{2, 3, 1, 0}
	switch g.kind {
	case kindForward:
		x, filter, y := g.x.load(mem[1], nhwc), g.w.load(mem[2], hwio), g.last.load(mem[3], nhwc)
		var bias []float32
		if g.bias != nil {
			bias = g.bias.load(mem[4], nhwc)
		}
		host.Conv2D(w, y, x, filter, bias, g.relu)
		g.last.store(mem[3], nhwc, y)
	case kindInputGradient:
		x, filter, y := g.x.load(mem[1], nhwc), g.w.load(mem[2], hwio), g.y.load(mem[3], nhwc)
		host.Conv2DInputGrad(w, x, y, filter)
		g.x.store(mem[1], nhwc, x)
	default:
		x, filter, y := g.x.load(mem[1], nhwc), g.w.load(mem[2], hwio), g.y.load(mem[3], nhwc)
		host.Conv2DFilterGrad(w, filter, x, y)
		g.w.store(mem[2], hwio, filter)
	}
	return nil
}

// each calls f with the offset of every element, in the order of the dimensions.
func (t fakeTensor) each(order [4]int, f func(i, offset int)) {
	i, d, s := 0, t.dims, t.strides
	for a := range d[order[0]] {
		for b := range d[order[1]] {
			for c := range d[order[2]] {
				for e := range d[order[3]] {
					f(i, a*s[order[0]]+b*s[order[1]]+c*s[order[2]]+e*s[order[3]])
					i++
				}
			}
		}
	}
}

func (t fakeTensor) load(mem []byte, order [4]int) []float32 {
	out := make([]float32, t.dims[0]*t.dims[1]*t.dims[2]*t.dims[3])
	t.each(order, func(i, offset int) {
		if t.dataType == dataBFloat16 {
			out[i] = math.Float32frombits(uint32(binary.NativeEndian.Uint16(mem[2*offset:])) << 16)
		} else {
			out[i] = math.Float32frombits(binary.NativeEndian.Uint32(mem[4*offset:]))
		}
	})
	return out
}

func (t fakeTensor) store(mem []byte, order [4]int, v []float32) {
	t.each(order, func(i, offset int) {
		u := math.Float32bits(v[i])
		if t.dataType == dataBFloat16 {
			binary.NativeEndian.PutUint16(mem[2*offset:], uint16((u+0x7fff+u>>16&1)>>16))
		} else {
			binary.NativeEndian.PutUint32(mem[4*offset:], u)
		}
	})
}
