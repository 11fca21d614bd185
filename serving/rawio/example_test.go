package rawio_test

import (
	"fmt"
	"io"
	"net"

	"github.com/goestimator/goestimator/serving/rawio"
)

// A server of HTTP or gRPC takes its connections from such a listener.
func Example() {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l := rawio.NewListener(inner)
	defer l.Close()
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			fmt.Fprint(c, "hello")
			c.Close()
		}
	}()
	c, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	fmt.Println(string(b), err)
	// Output: hello <nil>
}
