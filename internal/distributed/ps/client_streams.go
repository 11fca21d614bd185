package ps

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// streams keeps streams to the servers between requests: opening one for each
// would cost about as much processor time as the request.
type streams struct {
	mu     sync.Mutex
	idle   map[streamOf][]*keptStream
	closed bool
}

// streamOf is what a stream is for.
type streamOf struct {
	server int
	method string
}

// keptStream carries one request after the other.
type keptStream struct {
	stream cluster.ClientStream // nil until it is opened
	cancel context.CancelCauseFunc
}

// Close ends the streams that are kept for further requests.
func (c *Client) Close() {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for key := range s.idle {
		s.end(key)
	}
}

// exchange makes a request on a stream that serves nothing else meanwhile. A stream
// whose request has failed is ended, as nobody knows what still comes on it.
func (c *Client) exchange(ctx context.Context, server int, method string, request func(cluster.ClientStream) error) error {
	key := streamOf{server, method}
	life, st := c.streams.take(ctx, key)
	stop := context.AfterFunc(ctx, func() { st.cancel(context.Cause(ctx)) })
	var err error
	if st.stream == nil {
		st.stream, err = c.c.Client.Stream(life, c.c.Servers[server], methodName(method))
	}
	if err == nil {
		if err = request(st.stream); err != nil {
			err = reason(st.stream, err)
		}
	}
	if stop() && err == nil {
		c.streams.put(key, st)
		return nil
	}
	st.cancel(nil)
	if err == nil {
		return nil
	}
	if status.Code(err) == codes.Unavailable { // so are the others
		c.streams.drop(server)
	}
	return explain(c.c.Servers[server], err)
}

// take returns a stream that waits for a request or, where there is none, one that
// is to be opened with a context that outlives the request.
func (s *streams) take(ctx context.Context, key streamOf) (context.Context, *keptStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.idle[key]
	if n := len(list) - 1; n >= 0 {
		s.idle[key] = list[:n]
		return nil, list[n]
	}
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return life, &keptStream{cancel: cancel}
}

// put keeps a stream whose request was answered.
func (s *streams) put(key streamOf, st *keptStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		st.cancel(nil)
		return
	}
	if s.idle == nil {
		s.idle = map[streamOf][]*keptStream{}
	}
	s.idle[key] = append(s.idle[key], st)
}

// drop ends a server's streams that wait for requests.
func (s *streams) drop(server int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.idle {
		if key.server == server {
			s.end(key)
		}
	}
}

// end ends streams; mu is held.
func (s *streams) end(key streamOf) {
	for _, st := range s.idle[key] {
		st.cancel(nil)
	}
	delete(s.idle, key)
}
