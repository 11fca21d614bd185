package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/collective"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
)

// workerGPUs computes means of dense gradients between the GPUs of a job's workers, one for
// each replica, during the life of a ring. Either all workers do so or none: they agree when
// the ring has formed. The next ring makes a new group of GPUs.
type workerGPUs struct {
	job     *Job
	network peers.Network
	devices []*cuda.Device     // of the replicas; nil: not every replica has its own GPU
	stepper *replicatedStepper // the latest
	group   peers.Group        // of the current ring; nil: gradients are summed on the host
	met     bool               // the workers have agreed on group
	ring    *collective.Group  // the current ring
	life    context.Context    // of the ring
	failed  int                // consecutive failures of groups and means while the ring worked
	failure error
	warned  string // the latest warning
	elastic bool
}

// joinTime is how long to wait for the GPUs of the other workers.
var joinTime = time.Minute

// mostFailures is the number of consecutive failures of groups and means after which the host sums instead for good.
const mostFailures = 2

func newWorkerGPUs(c Config, devs []device.Device) *workerGPUs {
	return &workerGPUs{job: c.Job, network: c.network(), devices: gpus.Distinct(devs), elastic: c.Elastic.Enabled()}
}

// expected reports whether the dense results of a stepper will stay on the GPU, as far as
// is known before the workers have agreed.
func (w *workerGPUs) expected(s *replicatedStepper) bool {
	if w.met {
		return w.group != nil && s.ownGPUs() != nil
	}
	o := w.offer(s)
	return o.GPU && o.Why == ""
}

// adopt takes a new stepper.
func (w *workerGPUs) adopt(s *replicatedStepper) error {
	w.stepper = s
	if w.group == nil {
		return nil
	}
	g, err := newSharedMean(s, w, w.group)
	if err != nil {
		return err
	}
	return s.use(g)
}

// meet agrees with the other workers of a new ring, tasks. Errors end the ring.
func (w *workerGPUs) meet(ctx context.Context, ring *collective.Group, tasks []cluster.Task) error {
	life, end := context.WithCancelCause(context.Background())
	go func() {
		<-ring.Done()
		end(ring.Err())
	}()
	w.ring, w.life = ring, life
	offers, err := gatherOf(ctx, ring, w.offer(w.stepper))
	if err != nil {
		return err
	}
	why, ok := agreed(offers, tasks)
	if ok {
		if why, err = w.form(ctx, ring); err != nil {
			return err
		}
	}
	w.met = true
	if w.group != nil || w.stepper == nil {
		return nil
	}
	w.warn(why)
	return w.stepper.use(nil)
}

// warn logs why a GPU of this or another worker is not fully used.
func (w *workerGPUs) warn(why string) {
	if why != "" && why != w.warned {
		w.job.log.Warn("gradients of the workers are summed through the host, not between their GPUs", "why", why)
	}
	w.warned = why
}

// form makes the group of GPUs. If any worker fails, there is no group, and form returns
// the reason.
func (w *workerGPUs) form(ctx context.Context, ring *collective.Group) (why string, err error) {
	var mine gpuGroup
	if w.job.rank == 0 {
		id, err := w.network.NewID()
		mine = gpuGroup{ID: id, Why: reason(err)}
	}
	groups, err := gatherOf(ctx, ring, mine)
	if err != nil {
		return "", err
	}
	if why := groups[0].Why; why != "" {
		return fmt.Sprintf("%v: %s", w.job.workers[0], why), nil
	}
	own := w.join(ctx, groups[0].ID)
	all, err := gatherOf(ctx, ring, gpuGroup{Why: reason(own), Waited: errors.Is(own, context.DeadlineExceeded)})
	if err != nil {
		return "", errors.Join(err, w.leave())
	}
	for rank, g := range all {
		if g.Why != "" && (why == "" || !g.Waited) {
			why = fmt.Sprintf("%v: %s", w.job.workers[rank], g.Why)
		}
	}
	if why == "" {
		return "", nil
	}
	w.fail(errors.New(why))
	return why, w.leave()
}

// fail counts a failure while the ring worked.
func (w *workerGPUs) fail(err error) { w.failed, w.failure = w.failed+1, err }

// gpuGroup is what workers tell each other about a group that they make.
type gpuGroup struct {
	ID     []byte `json:"id,omitempty"`     // from rank 0
	Why    string `json:"why,omitempty"`    // why it cannot be made
	Waited bool   `json:"waited,omitempty"` // waited for the others; one of them may know a better cause
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// join enters the group, and tests it with a mean over the stepper's initial buffers.
func (w *workerGPUs) join(ctx context.Context, id []byte) error {
	ctx, end := w.limit(ctx, joinTime)
	defer end()
	var err error
	var contexts []driver.Context
	for _, d := range w.devices {
		contexts = append(contexts, d.Context())
	}
	n := len(contexts)
	w.group, err = w.network.Join(ctx, contexts, peers.Place{ID: id, First: w.job.rank * n, Total: len(w.job.workers) * n})
	if err != nil {
		w.group = nil
		return err
	}
	if err := w.adopt(w.stepper); err != nil {
		return err
	}
	return w.stepper.gpus.mean.Take(ctx, 1)
}

// limit returns a context that also ends with the ring, or after longest.
func (w *workerGPUs) limit(ctx context.Context, longest time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.life, func() { cancel(context.Cause(w.life)) })
	ctx, end := context.WithTimeout(ctx, longest)
	return ctx, func() {
		stop()
		end()
		cancel(nil)
	}
}

// take computes a mean over the workers' GPUs. All workers have reached this point. A worker
// that does not continue has left the ring, or its GPU or network has failed.
func (w *workerGPUs) take(ctx context.Context, m *cuda.Mean, replicas int) error {
	limited, end := w.limit(ctx, longestCall)
	defer end()
	err := m.Take(limited, replicas)
	switch {
	case err == nil:
		w.failed = 0
		return nil
	case errors.Is(err, device.ErrLost), ctx.Err() != nil:
		return err
	case w.life.Err() == nil:
		w.fail(err)
	}
	return fmt.Errorf("%w: %w", ErrSessionLost, err)
}

// confirm returns when the sums of all workers have succeeded. It is needed after the last step: no further step would tell
// the workers that one of them failed and has to repeat the step with them.
func (w *workerGPUs) confirm(ctx context.Context) error {
	_, err := w.ring.AllGather(ctx, nil)
	return sessionLost(err)
}

// leave ends the group without the others, and frees the memory of its means.
func (w *workerGPUs) leave() error {
	w.end(peers.Group.Abort)
	if w.stepper == nil {
		return nil
	}
	return w.stepper.closeMean()
}

// close ends the group, together with the others if they also end it.
func (w *workerGPUs) close() { w.end(peers.Group.Close) }

// end ends the group, if there is one. Errors are ignored, since nothing depends on the group any more.
func (w *workerGPUs) end(how func(peers.Group) error) {
	g := w.group
	w.group, w.met = nil, false
	if g == nil {
		return
	}
	if err := how(g); err != nil {
		w.job.log.Info("the group of the workers' GPUs did not end in good order", "error", err)
	}
}

// gatherOf returns the values of all workers by rank.
func gatherOf[T any](ctx context.Context, ring *collective.Group, mine T) ([]T, error) {
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	each, err := ring.AllGather(ctx, b)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(each))
	for rank, b := range each {
		if err := json.Unmarshal(b, &all[rank]); err != nil {
			return nil, fmt.Errorf("%w: worker %d on its GPU: %w", collective.ErrMismatch, rank, err)
		}
	}
	return all, nil
}

// offer returns what this worker can do.
func (w *workerGPUs) offer(s *replicatedStepper) gpuOffer {
	if w.devices == nil || s == nil || s.ownGPUs() == nil {
		return gpuOffer{}
	}
	o := gpuOffer{GPU: true, Replicas: len(w.devices)}
	h := fnv.New64a()
	fmt.Fprint(h, s.values())
	o.Values = h.Sum64()
	var err error
	o.Version, err = w.network.Version(w.devices[0].Context())
	switch {
	case err != nil:
		o.Why = err.Error()
	case w.job.security().TLS():
		o.Why = "connections use TLS, and what GPUs send each other would be plaintext"
	case w.elastic:
		o.Why = "strategy.elastic weighs gradients by the rows of each worker, which is done on the host"
	case w.failed >= mostFailures:
		o.Why = fmt.Sprintf("it failed %d times in a row: %v", w.failed, w.failure)
	}
	return o
}
