package tfjob

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/proc"
)

// pod is one replica; the operator's mutex guards it.
type pod struct {
	replica.Task
	phase      Phase
	process    *proc.Process // nil: none runs
	code       int
	containers int
	recreated  int
	deleting   bool
	created    bool // at least once
}

// absent is the phase of a pod that does not exist yet.
const absent Phase = ""

func (p *pod) state() Pod {
	s := Pod{Type: p.Type, Index: p.Index, Phase: p.phase, ExitCode: p.code, Containers: p.containers, Recreated: p.recreated}
	if s.Phase == absent {
		s.Phase = PodPending
	}
	if p.process != nil {
		s.PID = p.process.PID()
	}
	return s
}

// startError is the exit code of a container whose process could not be started,
// as in a shell.
const startError = 127

// start runs the pod's container. mu is held, here and below.
func (o *Operator) start(p *pod) {
	if o.closed || p.process != nil || p.deleting {
		return
	}
	r := o.job.Replicas[p.Type]
	process, err := proc.Start(proc.Command{Args: r.Command, Env: o.environ(p.Task), Stdout: o.job.Output, Stderr: o.job.Output})
	if err != nil {
		fmt.Fprintf(o.job.Output, "tfjob: %s: %v\n", p.Task, err)
		o.exited(p, startError)
		return
	}
	p.process, p.phase = process, PodRunning
	o.running.Go(func() {
		<-process.Done()
		o.mu.Lock()
		defer o.mu.Unlock()
		p.process = nil
		o.exited(p, process.ExitCode())
		o.reconcile()
	})
}

func (o *Operator) environ(t replica.Task) []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "TF_CONFIG=") })
	env = append(append(env, o.job.Env...), o.job.Replicas[t.Type].Env...)
	if text := o.job.tfConfig(t); text != "" {
		env = append(env, "TF_CONFIG="+text)
	}
	return env
}

// exited does what the kubelet does when a container has ended: it restarts the
// container in place, or sets the pod's last phase. A pod has the restart policy
// of its replica spec, or Never for ExitCode.
func (o *Operator) exited(p *pod, code int) {
	p.code = code
	policy := o.job.Replicas[p.Type].Restart
	switch {
	case p.deleting && o.status.Finished():
		p.phase = PodDeleted
	case p.deleting:
		p.phase, p.deleting = absent, false
	case !o.closed && (policy == replica.Always || policy == replica.OnFailure && code != 0):
		p.containers++
		o.again(p)
	case code == 0:
		p.phase = PodSucceeded
	default:
		p.phase = PodFailed
	}
}

// again restarts a container after the kubelet's pause.
func (o *Operator) again(p *pod) {
	time.AfterFunc(o.job.Delay, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if p.phase == PodRunning {
			o.start(p)
			o.reconcile()
		}
	})
}

// delete removes a pod; a running pod is gone when its process has ended.
func (o *Operator) delete(p *pod) {
	switch {
	case p.process != nil && !p.deleting:
		p.deleting = true
		process := p.process
		o.running.Go(func() { process.Stop(o.job.Grace) })
	case p.process != nil:
	case o.status.Finished():
		p.phase = PodDeleted
	default:
		p.phase = absent
	}
}
