package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/cmd/cli"
	"github.com/goestimator/goestimator/internal/platform/freeport"
)

// runtimeCluster is a worker and a parameter server.
type runtimeCluster struct {
	ports      *freeport.Reservation
	worker, ps *runtimeTask
}

// runtimeTask is a server in a separate process.
type runtimeTask struct {
	*child
	address string
	version string
}

// startCluster starts the servers: ours, or TensorFlow's with that Python.
func startCluster(servers string) (*runtimeCluster, error) {
	ports, err := freeport.Reserve(2)
	if err != nil {
		return nil, err
	}
	c := &runtimeCluster{ports: ports}
	for i, job := range []string{"worker", "ps"} {
		argv, err := self("cluster_task", job, ports.Address(0), ports.Address(1))
		if servers != ours {
			argv = []string{servers, filepath.Join("bench", "peers", "cluster_runtime.py"), "serve", job, ports.Address(0), ports.Address(1)}
		}
		if err != nil {
			return nil, err
		}
		w, err := start(context.Background(), contender{name: job, argv: argv}, threads())
		if err != nil {
			c.stop()
			return nil, err
		}
		t := &runtimeTask{w, ports.Address(i), w.ready.Version}
		if job == "ps" {
			c.ps = t
		} else {
			c.worker = t
		}
	}
	return c, nil
}

func (c *runtimeCluster) stop() {
	for _, t := range []*runtimeTask{c.worker, c.ps} {
		if t != nil {
			_ = t.cmd.Process.Kill()
			_ = t.child.stop()
		}
	}
	_ = c.ports.Close()
}

// explained adds to an error what the servers wrote to standard error: at their end, both kinds print their stacks.
func (c *runtimeCluster) explained(err error) error {
	for _, t := range []*runtimeTask{c.worker, c.ps} {
		t.quit()
		_ = t.child.stop()
		err = fmt.Errorf("%w\n%s at %s:\n%s", err, t.name, t.address, t.errs.String())
	}
	return err
}

// resident is the current resident memory of the process, in MB.
func (t *runtimeTask) resident() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: its status has no VmRSS", t.cmd.Process.Pid)
}

// runtimeTaskWorker runs goestimator server: bench worker cluster_task JOB WORKER PS; WORKER and PS are addresses.
func runtimeTaskWorker(l *link, args []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := l.send(reply{Version: runtime.Version()}); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	spec := fmt.Sprintf("worker|%s,ps|%s", args[1], args[2])
	if code := cli.Run(ctx, []string{"server", "--cluster_spec", spec, "--job_name", args[0], "--task_id", "0"}, os.Stdout, os.Stderr); ctx.Err() == nil {
		return fmt.Errorf("server ended with %d", code)
	}
	return nil
}
