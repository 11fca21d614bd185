package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/goestimator/goestimator/internal/clusterruntime/server"
	"github.com/goestimator/goestimator/runconfig"
)

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster := runconfig.NewClusterSpec(map[string][]string{"local": {l.Addr().String()}})
	s, err := server.New(server.Config{Cluster: cluster, Job: "local", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // a signal, in a program
	fmt.Println(errors.Join(s.Serve(ctx, l), s.Close()))
	// Output: context canceled
}
