package worker

import (
	"context"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// askMasters is how often a worker asks the masters of its sessions whether they are alive.
	askMasters = time.Minute
	// masterPatience is how long a master has to answer.
	masterPatience = 30 * time.Second
	// mastersAtOnce is how many masters are asked at the same time.
	mastersAtOnce = 16
	// forgetAfter is the default time for which a master may be silent and a session unused.
	forgetAfter = 10 * time.Minute
)

// masters asks the tasks that opened sessions whether they are alive. A master that was killed, with its client, closes no session:
// without this, graphs would stay as long as the worker runs.
type masters struct {
	forget time.Duration
	ctx    context.Context // ends with the worker
	cancel context.CancelFunc
	asking sync.WaitGroup
	timer  *time.Timer // nil: there is no one to ask
}

func newMasters(forget time.Duration) *masters {
	if forget <= 0 {
		forget = forgetAfter
	}
	m := &masters{forget: forget}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// masterTask is a task that opened sessions, and the cluster in which it has this name.
type masterTask struct {
	name  string
	peers Peers
}

// watch schedules asking the masters. The mutex is held.
func (w *Worker) watch() {
	if w.masters.timer != nil || w.masters.ctx.Err() != nil || len(w.opened) == 0 {
		return
	}
	w.masters.timer = time.AfterFunc(min(askMasters, w.masters.forget), func() {
		w.mu.Lock()
		w.masters.timer = nil
		over := w.masters.ctx.Err() != nil
		if !over {
			w.masters.asking.Add(1)
		}
		w.mu.Unlock()
		if over {
			return
		}
		defer w.masters.asking.Done()
		w.askMasters()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watch()
	})
}

// Close ends the worker's background work. All calls must have ended.
func (w *Worker) Close() {
	w.mu.Lock()
	w.masters.cancel()
	if w.masters.timer != nil {
		w.masters.timer.Stop()
	}
	w.mu.Unlock()
	w.masters.asking.Wait()
}

// askMasters asks all masters of sessions, and ends sessions whose master is gone.
func (w *Worker) askMasters() {
	w.mu.Lock()
	tasks := map[masterTask]bool{}
	for _, s := range w.opened {
		if s.master != "" {
			tasks[masterTask{s.master, s.peers}] = true
		}
	}
	w.mu.Unlock()
	slots := make(chan struct{}, mastersAtOnce)
	var done sync.WaitGroup
	for t := range tasks {
		slots <- struct{}{}
		done.Go(func() {
			defer func() { <-slots }()
			out, err := w.askMaster(t)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.judge(t, out, err)
		})
	}
	done.Wait()
}

// askMaster asks a master for its devices. It returns neither an error nor devices if nothing is known.
func (w *Worker) askMaster(t masterTask) (*rpcs.GetStatusResponse, error) {
	n, err := device.Parse(t.name)
	if err != nil {
		return nil, nil
	}
	peer, err := t.peers.Worker(n.Job, n.Task)
	if err != nil { // it is not a task of the cluster: it cannot be asked
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(w.masters.ctx, masterPatience)
	defer cancel()
	return service.Ask[rpcs.GetStatusResponse](ctx, peer, "GetStatus", &rpcs.GetStatusRequest{})
}

// judge ends the sessions of a master that was restarted since it opened them, and unused sessions of a master that has been silent for
// long enough. The mutex is held.
func (w *Worker) judge(t masterTask, out *rpcs.GetStatusResponse, err error) {
	if w.masters.ctx.Err() != nil {
		return
	}
	code := status.Code(err)
	lost := code == codes.Unavailable || code == codes.DeadlineExceeded
	for handle, s := range w.opened {
		if s.master != t.name || s.peers != t.peers {
			continue
		}
		switch {
		case !lost:
			s.silent = time.Time{}
			if len(out.GetDeviceAttributes()) > 0 && !s.openedBy(out) {
				w.endSession(handle)
			}
		case s.silent.IsZero():
			s.silent = time.Now()
		case time.Since(s.silent) >= w.masters.forget && time.Since(s.used) >= w.masters.forget && !w.runs(handle):
			w.endSession(handle)
		}
	}
}

// openedBy reports whether a task with these devices opened the session, and was not restarted since.
func (s *opened) openedBy(out *rpcs.GetStatusResponse) bool {
	for _, d := range out.GetDeviceAttributes() {
		if int64(d.GetIncarnation()) == s.incarnation {
			return true
		}
	}
	return s.incarnation == 0 // it did not say
}

// runs reports whether a graph of the session is running. The mutex is held.
func (w *Worker) runs(session string) bool {
	for _, g := range w.graphs {
		if g.session == session && g.users > 0 {
			return true
		}
	}
	return false
}
