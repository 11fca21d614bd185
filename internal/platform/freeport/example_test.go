package freeport_test

import (
	"fmt"
	"net"

	"github.com/goestimator/goestimator/internal/platform/freeport"
)

func Example() {
	r, err := freeport.Reserve(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	l, err := net.Listen("tcp", r.Address(1))
	fmt.Println(err, l.Addr().String() == r.Address(1))
	l.Close()
	// Output: <nil> true
}
