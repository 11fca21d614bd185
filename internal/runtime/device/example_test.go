package device_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// double is a kernel in Go: it doubles each byte.
type double struct{ memory []byte }

func (k double) Run() error {
	for i := range k.memory {
		k.memory[i] *= 2
	}
	return nil
}

// A stream does copies and kernels in order, and the host waits for them at the end.
// The same code runs on the fake device, which defers the work until Synchronize.
func Example() {
	for _, d := range []device.Device{device.NewHost(), device.NewFake()} {
		b, err := d.Alloc(4)
		if err != nil {
			log.Fatal(err)
		}
		s, err := d.NewStream()
		if err != nil {
			log.Fatal(err)
		}
		out := make([]byte, 4)
		err = errors.Join(
			s.Upload(b, 0, []byte{1, 2, 3, 4}),
			s.Launch(double{b.(device.Mapped).Map()}),
			s.Download(out, b, 0),
			s.Synchronize())
		fmt.Println(d.Kind(), out, err)
		fmt.Println(errors.Is(s.Upload(b, 2, out), device.ErrRange))
		if err := d.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// host [2 4 6 8] <nil>
	// true
	// fake [2 4 6 8] <nil>
	// true
}
