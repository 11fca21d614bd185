package fake_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
)

func Example() {
	d := fake.New(fake.Default)
	c, err := d.Open(0)
	if err != nil {
		panic(err)
	}
	p, err := c.Alloc(100)
	if err != nil {
		panic(err)
	}
	s, err := c.NewStream()
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Fill(p, 0, 100), s.Synchronize(), s.Close(), c.Free(p), c.Close(), d.Leaks())
	// Output: <nil> <nil> <nil> <nil> <nil> <nil>
}
