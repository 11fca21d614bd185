package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goestimator/goestimator/internal/platform/proc"
)

// elasticPatience limits the wait for a ring; a longer wait counts as that long.
const elasticPatience = 50 * time.Second

// elasticCluster has the nodes of one run.
type elasticCluster struct {
	plan  elasticPlan
	nodes [elasticNodes]*elasticOutput
}

func newElasticCluster(p elasticPlan) (*elasticCluster, error) {
	c := &elasticCluster{plan: p}
	for i := range c.nodes {
		c.nodes[i] = &elasticOutput{}
	}
	return c, os.MkdirAll(p.dir, 0o777)
}

// start starts a node.
func (c *elasticCluster) start(rank int) error {
	argv, env, err := c.plan.node(rank)
	if err != nil {
		return err
	}
	x := c.nodes[rank]
	x.reset()
	env = append(append(os.Environ(), "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=", "PYTHONWARNINGS=ignore", "TORCH_CPP_LOG_LEVEL=ERROR"), env...)
	x.process, err = proc.Start(proc.Command{Args: argv, Env: env, Stdout: x, Stderr: x})
	return err
}

// kill kills a node and the processes it started, like the loss of its machine.
func (c *elasticCluster) kill(rank int) time.Time {
	x := c.nodes[rank]
	now := time.Now()
	_ = syscall.Kill(x.process.PID(), syscall.SIGKILL) // it may have ended already
	for _, pid := range x.children() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-x.process.Done()
	return now
}

// close ends all nodes.
func (c *elasticCluster) close() {
	for rank, x := range c.nodes {
		if x.process != nil {
			c.kill(rank)
		}
	}
}

// await waits until each node has made a step in a ring with that many workers, and returns when the last node did.
func (c *elasticCluster) await(workers int, ranks ...int) (time.Time, error) {
	until := time.Now().Add(elasticPatience)
	var last time.Time
	for _, rank := range ranks {
		for {
			n, at := c.nodes[rank].ring()
			if n == workers {
				if at.After(last) {
					last = at
				}
				break
			}
			if time.Now().After(until) {
				return last, fmt.Errorf("node %d has not trained with %d workers within %v:\n%s", rank, workers, elasticPatience, c.nodes[rank].text())
			}
			time.Sleep(time.Millisecond)
		}
	}
	return last, nil
}

// elasticOutput parses the output of a node.
type elasticOutput struct {
	process *proc.Process
	mu      sync.Mutex
	all     bytes.Buffer
	line    []byte
	workers int
	at      time.Time
	pids    []int
}

var (
	elasticRing  = regexp.MustCompile(`the ring of workers trains.* workers=(\d+)`)
	elasticChild = regexp.MustCompile(`begins pid=(\d+)`)
)

// Write parses output.
func (x *elasticOutput) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all.Write(b)
	x.line = append(x.line, b...)
	for {
		line, rest, whole := bytes.Cut(x.line, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		x.line = rest
		if m := elasticRing.FindSubmatch(line); m != nil {
			x.workers, _ = strconv.Atoi(string(m[1]))
			x.at = time.Now()
		}
		if m := elasticChild.FindSubmatch(line); m != nil {
			pid, _ := strconv.Atoi(string(m[1]))
			x.pids = append(x.pids, pid)
		}
	}
}

// ring returns the number of workers in the node's latest ring, and when the ring made its first step.
func (x *elasticOutput) ring() (workers int, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.workers, x.at
}

// children are the processes that the node has started.
func (x *elasticOutput) children() []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]int{}, x.pids...)
}

func (x *elasticOutput) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.String()
}

// reset forgets an earlier process.
func (x *elasticOutput) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.workers, x.pids, x.line = 0, nil, nil
}

// pythonVersion is the version of a Python package.
func pythonVersion(python, name string) (string, error) {
	out, err := exec.Command(python, "-c", "import "+name+"; print("+name+".__version__)").Output()
	return strings.TrimSpace(string(out)), err
}
