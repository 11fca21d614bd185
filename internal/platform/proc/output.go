package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// outputs copies a child's output to its writers.
type outputs struct {
	write []*os.File // the child's ends
	read  []*os.File
	to    []io.Writer
	wait  sync.WaitGroup
}

func newOutputs(cmd *exec.Cmd, c Command) (*outputs, error) {
	o := &outputs{}
	for _, s := range []struct {
		to    io.Writer
		child *io.Writer
	}{{c.Stdout, &cmd.Stdout}, {c.Stderr, &cmd.Stderr}} {
		if s.to == nil {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			o.started()
			o.close()
			return nil, err
		}
		*s.child = w
		o.read, o.write, o.to = append(o.read, r), append(o.write, w), append(o.to, s.to)
	}
	for i, r := range o.read {
		to := o.to[i]
		o.wait.Go(func() { copyAll(to, r) })
	}
	return o, nil
}

// copyAll copies until every holder of the other end has closed it, or until
// the deadline of r. A failing writer does not stop the child: the rest is read
// and dropped.
func copyAll(w io.Writer, r io.Reader) {
	if _, err := io.Copy(w, r); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		_, _ = io.Copy(io.Discard, r)
	}
}

// started closes our copies of the child's ends, since the child has its own.
func (o *outputs) started() {
	for _, w := range o.write {
		w.Close()
	}
}

// drain waits for all output, up to the limit, and reports whether it has
// ended.
func (o *outputs) drain(limit time.Duration) bool {
	done := make(chan struct{})
	go func() { o.wait.Wait(); close(done) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// close ends the reading. Output of dead processes is read first; a process
// that left the group and still writes is cut off.
func (o *outputs) close() {
	if !o.drain(outputGrace) {
		for _, r := range o.read {
			_ = r.SetReadDeadline(time.Now()) // pipes have deadlines
		}
	}
	o.wait.Wait()
	for _, r := range o.read {
		r.Close()
	}
}

// outputGrace is how long output is read after the whole group was killed.
const outputGrace = 5 * time.Second
