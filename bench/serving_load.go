package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// callLimit limits the duration of a call of the load generator.
const callLimit = 30 * time.Second

// bytesCodec sends and receives encoded messages, so that the load generator
// costs as little as possible.
type bytesCodec struct{}

var _ encoding.CodecV2 = bytesCodec{}

// Name implements encoding.CodecV2.
func (bytesCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2 for []byte.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

// Unmarshal implements encoding.CodecV2 for *[]byte; nil drops the message.
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if p := v.(*[]byte); p != nil {
		*p = data.Materialize()
	}
	return nil
}

// caller is a client with its own connection.
type caller struct {
	conn   *grpc.ClientConn
	method string
}

func newCaller(address, method string) (*caller, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(1<<30)))
	return &caller{conn, method}, err
}

// call sends a request; reply may be nil.
func (c *caller) call(request []byte, reply *[]byte) error {
	ctx, stop := context.WithTimeout(context.Background(), callLimit)
	defer stop()
	return c.conn.Invoke(ctx, c.method, request, reply)
}

// load is closed-loop load: each client sends its next request when it has
// received the last response.
type load struct {
	clients  []*caller
	requests [][]byte
}

func newLoad(address, method string, clients int, requests [][]byte) (*load, error) {
	l := &load{requests: requests}
	for range clients {
		c, err := newCaller(address, method)
		if err != nil {
			return nil, err
		}
		l.clients = append(l.clients, c)
	}
	return l, nil
}

// run sends n requests and returns the duration of each, sorted, and the total time.
func (l *load) run(n int) ([]time.Duration, time.Duration, error) {
	took := make([]time.Duration, n)
	failed := make(chan error, len(l.clients))
	var next atomic.Int64
	var work sync.WaitGroup
	begun := time.Now()
	for _, c := range l.clients {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				at := time.Now()
				if err := c.call(l.requests[i%len(l.requests)], nil); err != nil {
					failed <- fmt.Errorf("request %d: %w", i, err)
					return
				}
				took[i] = time.Since(at)
			}
		})
	}
	work.Wait()
	all := time.Since(begun)
	select {
	case err := <-failed:
		return nil, 0, err
	default:
	}
	slices.Sort(took)
	return took, all, nil
}

func (l *load) close() {
	for _, c := range l.clients {
		c.conn.Close()
	}
}

// quantile is a quantile of sorted durations; 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
