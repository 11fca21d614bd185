package peers_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleHost() {
	d := fake.New(fake.Default, fake.Default)
	var contexts []driver.Context
	var parts []peers.Part
	var host []driver.Pinned
	var errs []error
	for i := range 2 {
		c, err1 := d.Open(i)
		s, err2 := c.NewStream()
		h, err3 := c.AllocHost(8)
		p, err4 := c.Alloc(8)
		h.Bytes()[0] = byte(20 + i)
		clear(h.Bytes()[1:])
		errs = append(errs, err1, err2, err3, err4, s.Upload(p, h.Bytes()))
		contexts, host = append(contexts, c), append(host, h)
		parts = append(parts, peers.Part{Stream: s, Address: p, Count: 1, Type: tensor.Int64})
	}
	r := peers.NewHost(contexts)
	errs = append(errs, r.AllReduce(parts), parts[1].Stream.Download(host[1].Bytes(), parts[1].Address), parts[1].Stream.Synchronize(), r.Close())
	for _, p := range parts {
		errs = append(errs, p.Stream.Close())
	}
	fmt.Println(host[1].Bytes()[0], errors.Join(errs...))
	// Output: 41 <nil>
}
