package eagerservice

import (
	"context"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxContexts bounds the contexts of a server.
const maxContexts = 1 << 10

// Config configures a Service.
type Config struct {
	Worker  *worker.Worker
	Methods service.Local                                  // of the WorkerService of this process
	Devices []*device_attributes_go_proto.DeviceAttributes // of this task, the default one first
	Dial    transport.Options                              // for connections to other tasks; zero: plaintext
}

// Service is the EagerService of a task. It is safe for concurrent use.
type Service struct {
	config Config

	mu       sync.Mutex
	contexts map[uint64]*clientContext
}

// New returns a service without contexts.
func New(c Config) *Service {
	return &Service{config: c, contexts: map[uint64]*clientContext{}}
}

// Methods returns the methods of the EagerService.
func (s *Service) Methods() []service.Method {
	return []service.Method{
		service.Bind("CreateContext", s.createContext),
		service.Bind("UpdateContext", s.updateContext),
		service.Bind("Enqueue", s.enqueue),
		service.BindStream("StreamingEnqueue", s.enqueue),
		service.Bind("WaitQueueDone", s.waitQueueDone),
		service.Bind("RunComponentFunction", s.runComponentFunction),
		service.Bind("KeepAlive", s.keepAlive),
		service.Bind("CloseContext", s.closeContext),
	}
}

// Contexts returns how many contexts there are.
func (s *Service) Contexts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.contexts)
}

// Kept returns how many contexts end by themselves without their client.
func (s *Service) Kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.contexts {
		if c.idle != nil {
			n++
		}
	}
	return n
}

// Close ends all contexts.
func (s *Service) Close() error {
	s.mu.Lock()
	all := s.contexts
	s.contexts = map[uint64]*clientContext{}
	s.mu.Unlock()
	var done sync.WaitGroup
	for _, c := range all {
		done.Go(c.close)
	}
	done.Wait()
	return nil
}

func (s *Service) createContext(_ context.Context, in *rpcs.CreateContextRequest) (*rpcs.CreateContextResponse, error) {
	c, err := newContext(s.config, in)
	if err != nil {
		return nil, err
	}
	if in.GetKeepAliveSecs() > 0 {
		c.idle = time.AfterFunc(time.Duration(min(in.GetKeepAliveSecs(), maxKeepAlive))*time.Second, func() { s.expire(c) })
	}
	old, err := s.add(c, in.GetContextViewId())
	if err != nil {
		c.close()
		return nil, err
	}
	if old != nil {
		old.close()
	}
	return &rpcs.CreateContextResponse{DeviceAttributes: s.config.Devices}, nil
}

// maxKeepAlive is how many seconds a context may stay without its client: 30 days.
const maxKeepAlive = 30 * 24 * 3600

// add adds a context, and returns an older one with the same number, whose client has lost this task and found it again.
func (s *Service) add(c *clientContext, view uint64) (old *clientContext, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.contexts[c.id]
	if old != nil && view < old.viewID() {
		return nil, status.Errorf(codes.InvalidArgument, "EagerService:CreateContext failed. Context id: <%d> already exists.", c.id)
	}
	if old == nil && len(s.contexts) >= maxContexts {
		return nil, status.Errorf(codes.ResourceExhausted, "the server has %d contexts, which is as many as are possible: close some", maxContexts)
	}
	s.contexts[c.id] = c
	return old, nil
}

// find returns a context, and a function to call after its use.
func (s *Service) find(id uint64) (*clientContext, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contexts[id]
	if c == nil {
		return nil, nil, noContext(id)
	}
	return c, c.use(), nil
}

// noContext returns an error with TensorFlow's text and code, from which coordinators conclude that the worker was restarted.
func noContext(id uint64) error {
	return status.Errorf(codes.Aborted, "Unable to find a context_id matching the specified one (%d). Perhaps the worker was restarted, or the context was GC'd?", id)
}

// expire ends a context whose client is gone.
func (s *Service) expire(c *clientContext) {
	s.mu.Lock()
	if s.contexts[c.id] == c {
		delete(s.contexts, c.id)
	}
	s.mu.Unlock()
	c.close()
}

func (s *Service) updateContext(_ context.Context, in *rpcs.UpdateContextRequest) (*rpcs.UpdateContextResponse, error) {
	c, done, err := s.find(in.GetContextId())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := c.update(in); err != nil {
		return nil, err
	}
	return &rpcs.UpdateContextResponse{DeviceAttributes: s.config.Devices}, nil
}

func (s *Service) keepAlive(_ context.Context, in *rpcs.KeepAliveRequest) (*rpcs.KeepAliveResponse, error) {
	c, done, err := s.find(in.GetContextId())
	if err != nil {
		return nil, err
	}
	defer done()
	return &rpcs.KeepAliveResponse{ContextViewId: c.viewID()}, nil
}

// closeContext ends a context. A missing or newer context is not an error.
func (s *Service) closeContext(_ context.Context, in *rpcs.CloseContextRequest) (*rpcs.CloseContextResponse, error) {
	s.mu.Lock()
	c := s.contexts[in.GetContextId()]
	if c == nil || in.GetContextViewId() < c.viewID() {
		s.mu.Unlock()
		return &rpcs.CloseContextResponse{}, nil
	}
	delete(s.contexts, c.id)
	s.mu.Unlock()
	c.close()
	return &rpcs.CloseContextResponse{}, nil
}

// waitQueueDone has nothing to wait for: an op is answered when it is done.
func (s *Service) waitQueueDone(_ context.Context, in *rpcs.WaitQueueDoneRequest) (*rpcs.WaitQueueDoneResponse, error) {
	_, done, err := s.find(in.GetContextId())
	if err != nil {
		return nil, err
	}
	done()
	if len(in.GetOpId()) > 0 {
		return nil, status.Error(codes.Unimplemented, "EagerServiceImpl::WaitQueueDone is not implemented for particular op IDs.")
	}
	return &rpcs.WaitQueueDoneResponse{}, nil
}
