package worker

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Peers are the workers of other tasks.
type Peers interface {
	Worker(job string, task int) (service.Caller, error)
}

// Worker is a task that runs parts of graphs. It is safe for concurrent use.
type Worker struct {
	devices   []*device_attributes_go_proto.DeviceAttributes
	task      device.Name // in its own cluster
	peers     Peers
	join      Join
	parallel  int
	folders   folders
	memory    *budget.Server
	resources *eager.Resources
	env       eager.Env // shared by all runs

	mu       sync.Mutex
	graphs   map[string]*registered
	accounts map[string]*budget.Account // of sessions with graphs
	sessions sessions
	opened   map[string]*opened // by session
	masters  *masters
	next     uint64 // number of the next graph. The first is random: a restarted worker must not accept its predecessor's handles
	bytes    int64  // of all graphs
	steps    map[int64]*step

	waiting atomic.Int64 // calls of RecvTensor
}

// Config configures a worker.
type Config struct {
	Devices  []*device_attributes_go_proto.DeviceAttributes // its devices, the processor first
	Peers    Peers                                          // a pointer
	Parallel int                                            // concurrent nodes of a step
	Folders  []*atomicfile.Root                             // in which ops may read and write checkpoints
	Memory   *budget.Server                                 // pays for tensors and graphs; nil: not counted
	Join     Join                                           // nil: sessions have no clusters of their own
	// Forget is how long a master may be silent, and its session unused, before the session is removed; 0: 10 minutes.
	Forget time.Duration
}

// New returns a worker without graphs and variables. Close ends it.
func New(c Config) *Worker {
	task, _ := device.Parse(c.Devices[0].GetName()) // it was made by String
	task.Type, task.ID = "", device.Any
	w := &Worker{devices: c.Devices, task: task, peers: c.Peers, join: c.Join, parallel: c.Parallel, folders: c.Folders, memory: c.Memory, accounts: map[string]*budget.Account{}, resources: eager.NewResources().Bound(c.Memory.Most()),
		graphs: map[string]*registered{}, sessions: newSessions(), opened: map[string]*opened{}, masters: newMasters(c.Forget), next: rand.Uint64(), steps: map[int64]*step{}}
	w.env = eager.Env{Bundle: w.folders.bundle, Files: w.folders.of, Graph: returnOf, Here: w.here}
	return w
}

// Graphs returns how many graphs are registered.
func (w *Worker) Graphs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.graphs)
}

// Methods returns the methods of the WorkerService.
func (w *Worker) Methods() []service.Method {
	const collective = "collective ops are not supported: variables are on parameter servers, or in the graph of one session"
	return []service.Method{
		service.Bind("GetStatus", w.getStatus),
		service.Bind("CreateWorkerSession", w.createSession),
		service.Bind("DeleteWorkerSession", w.deleteSession),
		service.Bind("RegisterGraph", w.registerGraph),
		service.Bind("DeregisterGraph", w.deregisterGraph),
		service.Bind("RunGraph", w.runGraph),
		service.Bind("CleanupGraph", w.cleanupGraph),
		service.Bind("CleanupAll", w.cleanupAll),
		service.Bind("RecvTensor", w.recvTensor),
		service.Bind("MarkRecvFinished", markFinished),
		service.Bind("Logging", logging),
		service.Bind("Tracing", tracing),
		service.Refuse[rpcs.GetStepSequenceRequest]("GetStepSequence", collective),
		service.Refuse[rpcs.CompleteGroupRequest]("CompleteGroup", collective),
		service.Refuse[rpcs.CompleteInstanceRequest]("CompleteInstance", collective),
		service.Refuse[rpcs.RecvBufRequest]("RecvBuf", collective),
	}
}

func (w *Worker) getStatus(context.Context, *rpcs.GetStatusRequest) (*rpcs.GetStatusResponse, error) {
	return &rpcs.GetStatusResponse{DeviceAttributes: w.devices}, nil
}

// deleteSession forgets the state of a session.
func (w *Worker) deleteSession(_ context.Context, in *rpcs.DeleteWorkerSessionRequest) (*rpcs.DeleteWorkerSessionResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endSession(in.GetSessionHandle())
	w.sessions.forget(in.GetSessionHandle())
	return &rpcs.DeleteWorkerSessionResponse{}, nil
}

func markFinished(context.Context, *rpcs.MarkRecvFinishedRequest) (*rpcs.MarkRecvFinishedResponse, error) {
	return &rpcs.MarkRecvFinishedResponse{}, nil
}

func logging(context.Context, *rpcs.LoggingRequest) (*rpcs.LoggingResponse, error) {
	return &rpcs.LoggingResponse{}, nil
}

func tracing(context.Context, *rpcs.TracingRequest) (*rpcs.TracingResponse, error) {
	return &rpcs.TracingResponse{}, nil
}

// registerGraph prepares a graph for runs.
func (w *Worker) registerGraph(ctx context.Context, in *rpcs.RegisterGraphRequest) (*rpcs.RegisterGraphResponse, error) {
	if in.GetGraphDef() == nil {
		return nil, status.Error(codes.InvalidArgument, "expected a graph")
	}
	if err := checkNames(in.GetSessionHandle()); err != nil {
		return nil, err
	}
	w.mu.Lock()
	_, err := w.known(in.GetSessionHandle(), in.GetCreateWorkerSessionCalled())
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	size := int64(leastGraph + proto.Size(in.GetGraphDef()))
	payer, err := w.hold(in.GetSessionHandle(), size)
	if err != nil {
		return nil, StatusOf(err)
	}
	random := w.enter(in.GetSessionHandle())
	p, err := prepare(in.GetGraphDef(), random)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil { // the session may have ended meanwhile, and then nobody would remove the graph
		_, err = w.known(in.GetSessionHandle(), in.GetCreateWorkerSessionCalled())
	}
	if err = cmp.Or(err, ctx.Err()); err != nil { // nobody would get the handle
		w.letGo(payer, size)
		w.leave(in.GetSessionHandle())
		if p != nil {
			_ = p.regions.Close() // host memory: an error does not matter
		}
		return nil, StatusOf(err)
	}
	p.bytes, p.payer, p.session = size, payer, in.GetSessionHandle()
	handle := fmt.Sprintf("%016x", w.next)
	w.next++
	w.graphs[handle] = p
	return &rpcs.RegisterGraphResponse{GraphHandle: handle}, nil
}

func (w *Worker) deregisterGraph(_ context.Context, in *rpcs.DeregisterGraphRequest) (*rpcs.DeregisterGraphResponse, error) {
	p, end, err := w.begin(in.GetGraphHandle())
	if err != nil {
		return nil, err
	}
	defer end()
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.gone {
		return nil, noGraph(in.GetGraphHandle())
	}
	w.drop(in.GetGraphHandle(), p)
	return &rpcs.DeregisterGraphResponse{}, nil
}

// noGraph returns an error with TensorFlow's text and code, after which clients make a new session.
func noGraph(handle string) error {
	return status.Errorf(codes.Aborted, "Graph handle is not found: %s. Possibly, this worker just restarted.", handle)
}
