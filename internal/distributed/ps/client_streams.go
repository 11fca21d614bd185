package ps

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// streams keeps streams to the servers between requests: opening a stream for each
// would cost about as much processor time as the request.
type streams struct {
	mu     sync.Mutex
	idle   map[streamOf][]*keptStream
	closed bool
}

// streamOf identifies the use of a stream.
type streamOf struct {
	server int
	method string
}

// keptStream carries one request after the other.
type keptStream struct {
	stream cluster.ClientStream // nil until opened
	cancel context.CancelCauseFunc
}

// Close ends the streams kept for further requests.
func (c *Client) Close() {
	s := &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for key := range s.idle {
		s.end(key)
	}
}

// exchange makes a request on a stream that it uses alone. The stream of a failed
// request is ended, since its further data is unknown.
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
	if status.Code(err) == codes.Unavailable { // the others are lost, too
		c.streams.drop(server)
	}
	return explain(c.c.Servers[server], err)
}

// take returns an idle stream or, without one, a new entry to be opened with a
// context that outlives the request.
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

// drop ends a server's idle streams.
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
