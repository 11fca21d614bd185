package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/runconfig"
)

// ErrOtherJob is wrapped by errors that report that a peer belongs to another job than
// this task: see JobID.
var ErrOtherJob = errors.New("another job")

// JobID distinguishes jobs whose tasks can reach each other. It is the name set for
// all tasks of a job or, without a name, a digest of their cluster in three parts.
//
// Tasks may know each other by different addresses, as when a proxy is between
// them. Without names, tasks belong to one job if their clusters have equal numbers
// of tasks of each kind, and agree in the address of the first training task, or of
// the caller.
type JobID struct {
	Name  string
	Shape uint64 // how many tasks of each kind; 0: unknown
	Lead  uint64 // the address of the first training task
	Own   uint64 // the address of the task itself
}

// jobOf is the identity of a task.
func jobOf(name string, spec runconfig.ClusterSpec, self Task) JobID {
	id := JobID{Name: name}
	if spec.Sparse() || spec.Len() == 0 {
		return id
	}
	h := fnv.New64a()
	for _, job := range spec.Jobs() {
		if job != runconfig.Evaluator { // only some of TFJob's tasks list it
			fmt.Fprintf(h, "%s %d\n", job, spec.NumTasks(job))
		}
	}
	id.Shape, id.Own = max(h.Sum64(), 1), addressDigest(spec, self)
	for _, job := range []string{runconfig.Chief, runconfig.Master, runconfig.Worker} {
		if id.Lead = addressDigest(spec, Task{Job: job}); id.Lead != 0 {
			break
		}
	}
	return id
}

// addressDigest is the digest of a task's address, 0 if it is not listed. All names of
// this machine count as one.
func addressDigest(spec runconfig.ClusterSpec, t Task) uint64 {
	a, ok := spec.Address(t.Job, t.Index)
	if !ok {
		return 0
	}
	if host, port, err := net.SplitHostPort(a); err == nil && runconfig.Loopback(host) {
		a = net.JoinHostPort("localhost", port)
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%v %s", t, strings.ToLower(a))
	return max(h.Sum64(), 1)
}

// String is the form on the wire.
func (j JobID) String() string {
	if j.Name != "" {
		return "name:" + j.Name
	}
	return fmt.Sprintf("cluster:%016x.%016x.%016x", j.Shape, j.Lead, j.Own)
}

// parseJob is the inverse of String; a malformed text belongs to no job.
func parseJob(s string) (j JobID, ok bool) {
	if name, named := strings.CutPrefix(s, "name:"); named {
		return JobID{Name: name}, name != ""
	}
	parts := strings.Split(strings.TrimPrefix(s, "cluster:"), ".")
	if len(parts) != 3 || !strings.HasPrefix(s, "cluster:") {
		return JobID{}, false
	}
	for i, to := range []*uint64{&j.Shape, &j.Lead, &j.Own} {
		v, err := strconv.ParseUint(parts[i], 16, 64)
		if err != nil {
			return JobID{}, false
		}
		*to = v
	}
	return j, true
}

// admits reports whether a caller belongs to this job; own is the digest of the caller's
// address as this task knows it.
func (j JobID) admits(caller JobID, own uint64) bool {
	switch {
	case j.Name != "" || caller.Name != "":
		return j.Name == caller.Name
	case j.Shape == 0 || caller.Shape == 0:
		return true
	}
	return j.Shape == caller.Shape && (j.Lead == caller.Lead || own != 0 && own == caller.Own)
}

// Same reports whether two tasks belong to one job, as far as their identities tell.
func (j JobID) Same(other JobID) bool { return j.admits(other, 0) }

// sameJob is the advice if tasks are mistaken for another job's.
const sameJob = "give all tasks of a job the same cluster in TF_CONFIG, or the same run.job_id (GOESTIMATOR_RUN_JOB_ID)"

// differs describes how a caller's job differs from a task's.
func (j JobID) differs(task, caller Task, theirs JobID) string {
	named := func(j JobID) string {
		if j.Name == "" {
			return "a job without a name"
		}
		return fmt.Sprintf("job %q", j.Name)
	}
	switch {
	case j.Name != "" || theirs.Name != "":
		return fmt.Sprintf("%v serves %s, the caller %v is of %s", task, named(j), caller, named(theirs))
	case j.Shape != theirs.Shape:
		return fmt.Sprintf("%v serves a cluster of other numbers of tasks than its caller %v has", task, caller)
	}
	return fmt.Sprintf("%v serves a cluster whose tasks have other addresses than in that of its caller %v", task, caller)
}

// checkJob refuses callers of another job than this task's, or than the job that holds it.
func (n *Node) checkJob(caller Task, header metadata.MD) error {
	theirs, ok := parseJob(first(header, jobKey))
	if !ok {
		return status.Errorf(codes.PermissionDenied, "%v was called without a job: %s", n.config.Task, sameJob)
	}
	mine, held := n.heldBy()
	if held && mine.admits(theirs, 0) || !held && (n.config.AnyJob || mine.admits(theirs, addressDigest(n.config.Spec, caller))) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s: %s", mine.differs(n.config.Task, caller, theirs), sameJob)
}

// Job returns the job that holds this node, or else its own.
func (n *Node) Job() JobID {
	j, _ := n.heldBy()
	return j
}

// heldBy returns the job that holds this node, or else its own and false.
func (n *Node) heldBy() (JobID, bool) {
	if j := n.holder.Load(); j != nil {
		return *j, true
	}
	return n.job, false
}

// Hold keeps a node that serves any job for the job of a handler's caller, until the node
// is closed. It returns an error if another job was first.
func (n *Node) Hold(ctx context.Context) error {
	if !n.config.AnyJob {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	j, ok := parseJob(first(md, jobKey))
	if !ok {
		return nil // the caller is this process
	}
	n.holder.CompareAndSwap(nil, &j)
	caller, _ := ParseTask(first(md, taskKey))
	return n.checkJob(caller, md)
}
