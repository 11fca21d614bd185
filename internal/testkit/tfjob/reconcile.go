package tfjob

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// reconcile does what the operator does after each change, until nothing is left to
// do, and wakes waiters. mu is held, here and below.
func (o *Operator) reconcile() {
	for !o.closed && o.pass() {
	}
	o.notify()
}

// pass is one pass of the operator; it reports whether another one is needed.
func (o *Operator) pass() bool {
	if o.status.Finished() {
		o.cleanUp()
		return false
	}
	before := o.status
	defer func() { o.status.record(before) }()
	if o.pastBackoffLimit() {
		o.status.set(Failed, fmt.Sprintf("Job %s has failed because it has reached the specified backoff limit", o.job.Name))
		for _, p := range o.pods { // whatever the clean-up policy
			o.delete(p)
		}
		return true
	}
	changed := false
	for _, typ := range order {
		if _, ok := o.job.Replicas[typ]; ok && o.reconcilePods(typ) {
			changed = true
		}
	}
	o.updateStatus()
	return changed || o.status.Finished()
}

// cleanUp deletes the pods that the clean-up policy names.
func (o *Operator) cleanUp() {
	for _, p := range o.pods {
		alive := p.phase == PodRunning || p.phase == absent
		if p.phase != PodDeleted && (o.job.CleanPods == CleanAll || o.job.CleanPods == CleanRunning && alive) {
			o.delete(p)
		}
	}
	if !o.status.Is(Succeeded) {
		return
	}
	for typ, c := range o.status.Replicas {
		o.status.Replicas[typ] = Counts{Succeeded: c.Succeeded + c.Active, Failed: c.Failed}
	}
}

// pastBackoffLimit counts the restarts in place of the running pods. Pods that the
// operator recreated do not count.
func (o *Operator) pastBackoffLimit() bool {
	if o.job.BackoffLimit == nil {
		return false
	}
	restarts := 0
	for _, p := range o.pods {
		if p.phase == PodRunning {
			restarts += p.containers
		}
	}
	return restarts > 0 && restarts >= *o.job.BackoffLimit
}

// reconcilePods creates the missing pods of a type, deletes failed pods that may
// succeed at another try, and counts all pods by phase.
func (o *Operator) reconcilePods(typ string) (changed bool) {
	var c Counts
	for _, p := range o.pods {
		if p.Type != typ {
			continue
		}
		switch {
		case p.phase == absent:
			if p.created {
				p.recreated++
			}
			p.created, changed = true, true
			o.start(p)
			continue // it is counted in the next pass
		case p.phase == PodRunning && p.deleting, p.phase == PodFailed:
			c.Failed++
		case p.phase == PodRunning:
			c.Active++
		case p.phase == PodSucceeded:
			c.Succeeded++
		}
		if p.phase == PodFailed && o.retries(p) {
			o.status.set(Restarting, fmt.Sprintf("TFJob %s is restarting because %s replica(s) failed.", o.job.Name, title(typ)))
			o.delete(p)
			changed = true
		}
	}
	o.status.Replicas[typ] = c
	return changed
}

// retries reports whether a failed pod is deleted and recreated.
func (o *Operator) retries(p *pod) bool {
	policy := o.job.Replicas[p.Type].Restart
	return policy == replica.ExitCode && replica.Retryable(p.code) || policy == replica.OnFailure || policy == replica.Always
}

// updateStatus sets the conditions. A failure while another replica restarts does
// not fail the job.
func (o *Operator) updateStatus() {
	name, restarting := o.job.Name, o.status.Is(Restarting)
	message := o.restartMessage()
	_, chief := o.job.Replicas[replica.Chief]
	_, master := o.job.Replicas[replica.Master]
	leaders := chief || master
	for _, typ := range order {
		spec, ok := o.job.Replicas[typ]
		if !ok {
			continue
		}
		c := o.status.Replicas[typ]
		leads := leaders && (typ == replica.Chief || typ == replica.Master) || !leaders && typ == replica.Worker
		done := c.Succeeded == spec.Count || !leaders && o.job.Success != AllWorkers && o.worker0Succeeded()
		switch {
		case leads && done:
			o.status.set(Succeeded, fmt.Sprintf("TFJob %s successfully completed.", name))
		case leads && c.Active > 0:
			o.status.set(Running, fmt.Sprintf("TFJob %s is running.", name))
		}
		switch {
		case c.Failed == 0:
		case restarting:
			o.status.set(Restarting, message)
		case o.job.DynamicWorkers && typ == replica.Worker:
		default:
			o.status.set(Failed, fmt.Sprintf("TFJob %s has failed because %d %s replica(s) failed.", name, c.Failed, title(typ)))
		}
	}
}

// restartMessage is the message of the condition Restarting; empty if it does not hold.
func (o *Operator) restartMessage() string {
	for _, c := range o.status.Conditions {
		if c.Type == Restarting {
			return c.Message
		}
	}
	return ""
}

func (o *Operator) worker0Succeeded() bool {
	p := o.find(replica.Worker, 0)
	return p != nil && p.phase == PodSucceeded
}

// title is a replica type as TFJob writes it: Chief, PS, Worker.
func title(typ string) string {
	if typ == replica.PS {
		return "PS"
	}
	return strings.ToUpper(typ[:1]) + typ[1:]
}
