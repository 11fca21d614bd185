package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// prefaceTime is how long a client may take for the rest of its preface.
const prefaceTime = 10 * time.Second

// Server serves the methods of services on connections of this transport. Streams are left to gRPC. It is safe for concurrent use
// once its services are registered.
type Server struct {
	services map[string]bool
	methods  map[string]method // by full name
	done     sync.WaitGroup    // links
	work     chan *serverCall
	workers  sync.WaitGroup

	mu      sync.Mutex
	links   map[*serverLink]bool
	none    chan struct{} // closed when no link is left
	running int           // calls
	free    int           // workers waiting for work
	stopped bool
	idle    chan struct{} // closed when no call is running, if set
}

// method is a method of a service.
type method struct {
	grpc.MethodDesc
	impl any
}

var _ grpc.ServiceRegistrar = (*Server)(nil)

// NewServer returns a Server without services. Stop ends it.
func NewServer() *Server {
	return &Server{services: map[string]bool{}, methods: map[string]method{}, links: map[*serverLink]bool{}, work: make(chan *serverCall)}
}

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.services[desc.ServiceName] = true
	for _, m := range desc.Methods {
		s.methods["/"+desc.ServiceName+"/"+m.MethodName] = method{m, impl}
	}
}

// find returns a method by its full name, or gRPC's error.
func (s *Server) find(name string) (method, error) {
	if m, ok := s.methods[name]; ok {
		return m, nil
	}
	service, short, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if !s.services[service] {
		return method{}, status.Errorf(codes.Unimplemented, "unknown service %v", service)
	}
	return method{}, status.Errorf(codes.Unimplemented, "unknown method %v for service %v", short, service)
}

// accept serves a connection; the first bytes of its preface were read already.
func (s *Server) accept(conn net.Conn, info credentials.AuthInfo) {
	ctx, cancel := context.WithCancel(peer.NewContext(context.Background(), &peer.Peer{Addr: conn.RemoteAddr(), LocalAddr: conn.LocalAddr(), AuthInfo: info}))
	l := &serverLink{link: newLink(conn), server: s, ctx: ctx, cancel: cancel, calls: map[uint32]*serverCall{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		cancel()
		l.close(errStopped)
		return
	}
	if len(s.links) == 0 {
		s.none = make(chan struct{})
	}
	s.links[l] = true
	s.done.Go(func() {
		if err := l.greet(); err != nil {
			l.close(err)
		}
		l.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.links, l); len(s.links) == 0 {
			close(s.none)
		}
	})
}

var errStopped = errors.New("the server ends")

// greet reads the rest of the preface, and answers it.
func (l *serverLink) greet() error {
	late := time.AfterFunc(prefaceTime, func() { l.close(errors.New("the preface did not come")) })
	defer late.Stop()
	rest := make([]byte, len(preface)-magic)
	if _, err := io.ReadFull(l.conn, rest); err != nil {
		return err
	}
	if string(rest) != preface[magic:] {
		return errMalformed
	}
	return l.write([]byte(preface))
}

// maxFree is how many goroutines wait for calls of any connection. Others end after their call.
const maxFree = 16

// dispatch passes a call to a waiting goroutine, or to a new one.
func (s *Server) dispatch(c *serverCall) {
	select {
	case s.work <- c:
		return
	default:
	}
	s.workers.Go(func() {
		for c != nil {
			c.answer()
			c = s.next()
		}
	})
}

// next waits for the next call; it returns nil if enough others wait, or no connection is left.
func (s *Server) next() *serverCall {
	s.mu.Lock()
	if s.free == maxFree {
		s.mu.Unlock()
		return nil
	}
	none := s.none
	s.free++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.free--
		s.mu.Unlock()
	}()
	select {
	case c := <-s.work:
		return c
	case <-none:
		return nil
	}
}

// begin records the beginning of a call.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
}

// end records that a call was answered.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// GracefulStop waits until no call is running, and stops.
func (s *Server) GracefulStop() {
	s.mu.Lock()
	if s.running > 0 && !s.stopped {
		if s.idle == nil {
			s.idle = make(chan struct{})
		}
		idle := s.idle
		s.mu.Unlock()
		<-idle
	} else {
		s.mu.Unlock()
	}
	s.Stop()
}

// Stop closes all connections, and waits for running methods.
func (s *Server) Stop() {
	s.mu.Lock()
	s.stopped = true
	for l := range s.links {
		l.close(errStopped)
	}
	s.mu.Unlock()
	s.done.Wait()
	s.workers.Wait()
}
