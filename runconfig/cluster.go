package runconfig

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// Task types of a cluster. Master is the legacy name of the chief.
const (
	Chief     = "chief"
	Master    = "master"
	Worker    = "worker"
	PS        = "ps"
	Evaluator = "evaluator"
)

// ClusterSpec lists the tasks of a cluster with their host:port addresses, as
// tf.train.ClusterSpec does. It is immutable; the zero value is an empty cluster.
type ClusterSpec struct {
	jobs   map[string]map[int]string
	sparse bool
}

// NewClusterSpec returns a dense cluster. jobs maps the name of a job to the addresses
// of its tasks 0, 1, ... Jobs without tasks are left out.
func NewClusterSpec(jobs map[string][]string) ClusterSpec {
	c := ClusterSpec{jobs: map[string]map[int]string{}}
	for job, addresses := range jobs {
		for i, a := range addresses {
			c.set(job, i, a)
		}
	}
	return c
}

func (c *ClusterSpec) set(job string, index int, address string) {
	if c.jobs == nil {
		c.jobs = map[string]map[int]string{}
	}
	if c.jobs[job] == nil {
		c.jobs[job] = map[int]string{}
	}
	c.jobs[job][index] = address
}

// Jobs returns the names of the jobs that have tasks, sorted.
func (c ClusterSpec) Jobs() []string { return slices.Sorted(maps.Keys(c.jobs)) }

// Tasks returns the indices of a job's tasks, in order. They are 0, 1, ...
// except in a sparse cluster.
func (c ClusterSpec) Tasks(job string) []int { return slices.Sorted(maps.Keys(c.jobs[job])) }

// NumTasks returns the number of a job's listed tasks.
func (c ClusterSpec) NumTasks(job string) int { return len(c.jobs[job]) }

// Len returns the number of listed tasks.
func (c ClusterSpec) Len() int {
	n := 0
	for _, tasks := range c.jobs {
		n += len(tasks)
	}
	return n
}

// Address returns the host:port of a task, and whether it is listed.
func (c ClusterSpec) Address(job string, index int) (string, bool) {
	a, ok := c.jobs[job][index]
	return a, ok
}

// Addresses returns the addresses of a job's tasks in the order of their indices.
func (c ClusterSpec) Addresses(job string) []string {
	var out []string
	for _, i := range c.Tasks(job) {
		out = append(out, c.jobs[job][i])
	}
	return out
}

// Sparse reports whether the cluster has TFJob's dynamic-worker form, in which each
// task lists only itself and the parameter servers, so that the number of workers is
// unknown.
func (c ClusterSpec) Sparse() bool { return c.sparse }

// OneMachine reports whether every listed task has a loopback address, as with
// `goestimator launch`: no other machine can take part.
func (c ClusterSpec) OneMachine() bool {
	for _, tasks := range c.jobs {
		for _, a := range tasks {
			if host, _, err := net.SplitHostPort(a); err != nil || !Loopback(host) {
				return false
			}
		}
	}
	return true
}

// Loopback reports whether a host is localhost or a loopback IP address, which only
// this machine can reach.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Equal reports whether two clusters list the same tasks.
func (c ClusterSpec) Equal(d ClusterSpec) bool {
	return c.sparse == d.sparse && maps.EqualFunc(c.jobs, d.jobs, maps.Equal[map[int]string, map[int]string])
}

// String returns the tasks in the form job|index=address;...,job|... with jobs sorted.
func (c ClusterSpec) String() string {
	jobs := make([]string, 0, len(c.jobs))
	for _, job := range c.Jobs() {
		tasks := make([]string, 0, len(c.jobs[job]))
		for _, i := range c.Tasks(job) {
			tasks = append(tasks, fmt.Sprintf("%d=%s", i, c.jobs[job][i]))
		}
		jobs = append(jobs, job+"|"+strings.Join(tasks, ";"))
	}
	return strings.Join(jobs, ",")
}
