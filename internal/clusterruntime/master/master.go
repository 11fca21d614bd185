package master

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Task is a task of the cluster.
type Task struct {
	Job   string
	Index int
}

// PaidBy makes memory pay for the graphs of sessions, and returns the master.
func (m *Master) PaidBy(memory *budget.Server) *Master {
	m.memory = memory
	return m
}

// String returns the task in the form of device names.
func (t Task) String() string { return fmt.Sprintf("/job:%s/task:%d", t.Job, t.Index) }

// Workers are the workers of the cluster, including this task's.
type Workers interface {
	Tasks() []Task
	Worker(job string, task int) (service.Caller, error)
}

// Master holds the sessions of clients. It is safe for concurrent use.
type Master struct {
	own     Task
	workers Workers
	log     *slog.Logger
	memory  *budget.Server // nil: not counted
	join    Join           // nil: sessions run only in the server's cluster

	mu       sync.Mutex
	sessions map[string]*session
	graphs   atomic.Int64 // bytes of all sessions' graphs
}

// New returns the master of a task.
func New(own Task, w Workers, log *slog.Logger) *Master {
	return &Master{own: own, workers: w, log: log, sessions: map[string]*session{}}
}

// Sessions returns how many sessions are open.
func (m *Master) Sessions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}

// Methods returns the methods of the MasterService.
func (m *Master) Methods() []service.Method {
	return []service.Method{
		service.Bind("CreateSession", m.createSession),
		service.Bind("ExtendSession", m.extendSession),
		service.Bind("PartialRunSetup", m.partialRunSetup),
		service.Bind("RunStep", m.runStep),
		service.Bind("CloseSession", m.closeSession),
		service.Bind("ListDevices", m.listDevices),
		service.Bind("Reset", m.reset),
		service.Bind("MakeCallable", m.makeCallable),
		service.Bind("RunCallable", m.runCallable),
		service.Bind("ReleaseCallable", m.releaseCallable),
	}
}

// createSession opens a session once all workers of the cluster answer.
func (m *Master) createSession(ctx context.Context, in *rpcs.CreateSessionRequest) (*rpcs.CreateSessionResponse, error) {
	filters, err := filtersOf(in.GetConfig().GetDeviceFilters())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	at, err := m.membersOf(in)
	if err != nil {
		return nil, err
	}
	s := &session{members: at, master: m, client: clientOf(ctx), account: m.memory.OpenLasting(), soft: in.GetConfig().GetAllowSoftPlacement(), callables: map[int64]callable{}, plans: map[string]*planned{}, active: time.Now()}
	s.timeout = in.GetConfig().GetOperationTimeoutInMs()
	s.logs = in.GetConfig().GetLogDevicePlacement()
	s.partials, s.cleaners, s.running = map[string]*partialRun{}, map[Task]*cleaner{}, map[*running]bool{}
	if err := s.prepare(ctx, in, filters); err != nil {
		s.close()
		return nil, err
	}
	err = m.keep(s)
	if ctx.Err() != nil { // the client would not get the handle
		err = status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		m.mu.Lock()
		delete(m.sessions, s.handle)
		m.mu.Unlock()
		s.close()
		return nil, err
	}
	m.log.Info("session opened", "session", s.handle, "devices", len(s.cluster.Devices))
	return &rpcs.CreateSessionResponse{SessionHandle: s.handle, GraphVersion: s.version}, nil
}

// prepare prepares a session that no one else uses yet.
func (s *session) prepare(ctx context.Context, in *rpcs.CreateSessionRequest, filters []device.Name) error {
	if err := s.survey(ctx, filters); err != nil {
		return err
	}
	if err := s.extend(in.GetGraphDef()); err != nil {
		return err
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	s.handle = hex.EncodeToString(id[:])
	return s.openWorkers(ctx, in.GetConfig())
}

// session returns an open session. The error's text and code are TensorFlow's.
func (m *Master) session(handle string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[handle]; s != nil {
		return s, nil
	}
	return nil, status.Errorf(codes.Aborted, "Session %s is not found. Possibly, this master has restarted.", handle)
}

func (m *Master) extendSession(_ context.Context, in *rpcs.ExtendSessionRequest) (*rpcs.ExtendSessionResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	version, err := s.extendFrom(in.GetGraphDef(), in.GetCurrentGraphVersion())
	return &rpcs.ExtendSessionResponse{NewGraphVersion: version}, err
}

func (m *Master) closeSession(_ context.Context, in *rpcs.CloseSessionRequest) (*rpcs.CloseSessionResponse, error) {
	m.mu.Lock()
	s := m.sessions[in.GetSessionHandle()]
	delete(m.sessions, in.GetSessionHandle())
	m.mu.Unlock()
	if s == nil {
		_, err := m.session(in.GetSessionHandle())
		return nil, err
	}
	s.close()
	m.log.Info("session closed", "session", s.handle)
	return &rpcs.CloseSessionResponse{}, nil
}

func (m *Master) listDevices(ctx context.Context, in *rpcs.ListDevicesRequest) (*rpcs.ListDevicesResponse, error) {
	s := &session{members: members{own: m.own, workers: m.workers}, master: m}
	if in.GetSessionHandle() == "" {
		if err := s.survey(ctx, nil); err != nil {
			return nil, err
		}
	} else if named, err := m.session(in.GetSessionHandle()); err != nil {
		return nil, err
	} else {
		s = named
	}
	out := &rpcs.ListDevicesResponse{}
	for _, d := range s.devices {
		if n, err := device.Parse(d.GetName()); err == nil && n.Job == s.own.Job && n.Task == s.own.Index {
			out.LocalDevice = append(out.LocalDevice, d)
		} else {
			out.RemoteDevice = append(out.RemoteDevice, d)
		}
	}
	return out, nil
}

// reset forgets the variables of containers on all workers, and closes all sessions.
func (m *Master) reset(ctx context.Context, in *rpcs.ResetRequest) (*rpcs.ResetResponse, error) {
	filters, err := filtersOf(in.GetDeviceFilters())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	m.mu.Lock()
	sessions := m.sessions
	m.sessions = map[string]*session{}
	m.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
	for _, t := range (members{own: m.own, workers: m.workers}).chosen(filters) {
		w, err := m.workers.Worker(t.Job, t.Index)
		if err == nil {
			_, err = service.Ask[rpcs.CleanupAllResponse](ctx, w, "CleanupAll", &rpcs.CleanupAllRequest{Container: in.GetContainer()})
		}
		if err != nil {
			return nil, err
		}
	}
	return &rpcs.ResetResponse{}, nil
}

// filtersOf reads device filters.
func filtersOf(texts []string) (filters []device.Name, err error) {
	for _, text := range texts {
		f, err := device.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("device filter: %w", err)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

// chosen returns the tasks that match a filter; without filters, all tasks. The own task always matches.
func (c members) chosen(filters []device.Name) (tasks []Task) {
	for _, t := range c.workers.Tasks() {
		ok := len(filters) == 0 || t == c.own
		for _, f := range filters {
			ok = ok || (f.Job == "" || f.Job == t.Job) && (f.Task == device.Any || f.Task == t.Index)
		}
		if ok {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// waitingLog is how often a session that waits for workers logs that.
const waitingLog = 10 * time.Second

// survey asks the workers for their devices, and waits for all of them.
func (s *session) survey(ctx context.Context, filters []device.Name) error {
	s.tasks = s.chosen(filters)
	for _, t := range s.tasks {
		out, err := s.status(ctx, t)
		if err != nil {
			return err
		}
		for _, d := range out.GetDeviceAttributes() {
			if err := s.has(t, d); err != nil {
				return err
			}
		}
	}
	if s.cluster.Client.Name.Type == "" {
		return status.Errorf(codes.Internal, "task %d of job %q has no CPU", s.own.Index, s.own.Job)
	}
	return nil
}

// has records a device of a task.
func (s *session) has(t Task, d *device_attributes_go_proto.DeviceAttributes) error {
	n, err := device.Parse(d.GetName())
	if s.members.def != nil && err == nil { // it has another name in the session's own cluster
		n.Job, n.Replica, n.Task = t.Job, 0, t.Index
		d = proto.CloneOf(d)
		d.Name = n.String()
	}
	if err != nil || n.Job != t.Job || n.Task != t.Index || n.Type == "" || n.ID == device.Any {
		return status.Errorf(codes.InvalidArgument, "task %d of job %q says that it has device %q", t.Index, t.Job, d.GetName())
	}
	at := partition.Device{Name: n, Incarnation: d.GetIncarnation()}
	s.devices = append(s.devices, d)
	s.cluster.Devices = append(s.cluster.Devices, at)
	if t == s.own && n.Type == "CPU" && n.ID == 0 {
		s.cluster.Client = at
	}
	return nil
}

// status asks a worker for its devices until it answers.
func (s *session) status(ctx context.Context, t Task) (*rpcs.GetStatusResponse, error) {
	w, err := s.workers.Worker(t.Job, t.Index)
	if err != nil {
		return nil, err
	}
	for pause, since := 50*time.Millisecond, time.Now(); ; pause = min(2*pause, time.Second) {
		out, err := service.Ask[rpcs.GetStatusResponse](ctx, w, "GetStatus", &rpcs.GetStatusRequest{})
		if err == nil || status.Code(err) != codes.Unavailable {
			return out, err
		}
		if time.Since(since) > waitingLog {
			s.master.log.Info(fmt.Sprintf("CreateSession still waiting for response from worker: /job:%s/replica:0/task:%d", t.Job, t.Index))
			since = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-time.After(pause):
		}
	}
}
