package peers_test

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/tensor"
)

// TestExchangeFails checks that errors of all driver calls are returned, and that nothing leaks.
func TestExchangeFails(t *testing.T) {
	var modules []kernels.Module
	for _, m := range kernels.Modules() {
		if m.Name == "peers" {
			modules = append(modules, m)
		}
	}
	for _, call := range []string{"Reach", "NewEvent", "Alloc", "Record", "WaitPeer", "CopyPeer"} {
		for after := range 2 {
			d := fake.New(fake.Default, fake.Default)
			boom := errors.New("boom")
			for _, k := range modules[0].Kernels {
				d.Register(k.Name, func(*fake.Call) error { return nil })
			}
			var devices []peers.Device
			var parts []peers.Part
			var give []func() error
			for i := range 2 {
				c, err1 := d.Open(i)
				s, err2 := c.NewStream()
				p, err3 := c.Alloc(800)
				lib, err4 := kernels.Load(t.Context(), kernels.Target{Context: c, Compiler: emulate.Declared(modules), Arch: 90}, modules...)
				if err := errors.Join(err1, err2, err3, err4, s.Fill(p, 0, 800)); err != nil {
					t.Fatal(err)
				}
				devices, parts = append(devices, peers.Device{Context: c, Kernels: lib}), append(parts, peers.Part{Stream: s, Address: p, Count: 100, Type: tensor.Float64})
				give = append(give, s.Close, lib.Close, func() error { return c.Free(p) }, c.Close)
			}
			d.Inject(call, after, boom)
			x, err := peers.NewExchange(devices)
			if err == nil {
				err = errors.Join(x.AllReduce(parts), x.Close())
			}
			if !errors.Is(err, boom) {
				t.Errorf("%s: expected %v, got %v", call, boom, err)
			}
			for _, f := range give {
				if err := f(); err != nil {
					t.Errorf("%s: %v", call, err)
				}
			}
			if err := d.Leaks(); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}
