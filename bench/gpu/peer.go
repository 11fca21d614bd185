package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed peer/*.py
var peerFiles embed.FS

// peer is a process that runs torch_gpu.py.
type peer struct {
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	in      io.WriteCloser
	answers chan answer
	errs    strings.Builder
	ready   answer
	ended   func() error // waits until the process has ended, soon after it closed standard output; then errs is complete
}

// answer is a message of the peer.
type answer struct {
	Version string    `json:"version"`
	GPU     string    `json:"gpu"`
	Losses  []float64 `json:"losses"`
	Seconds float64   `json:"seconds"`
	Wall    float64   `json:"wall"`
	Error   string    `json:"error"`
}

// peerCase is a case with the initial values of its variables.
type peerCase struct {
	*benchCase
	Variables []initial `json:"variables"`
}

// writePeer writes the peer's scripts to a folder.
func writePeer(dir string) error {
	files, err := peerFiles.ReadDir("peer")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := peerFiles.ReadFile("peer/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// startPeer runs the scripts in dir for a training.
func startPeer(ctx context.Context, python, dir string, t *training) (*peer, error) {
	text, err := json.Marshal(peerCase{t.k, t.initials})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, t.k.Name+".json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &peer{cancel: cancel, cmd: exec.CommandContext(ctx, python, filepath.Join(dir, "torch_gpu.py"), file), answers: make(chan answer)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.errs, 5*time.Second
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		cancel()
		return nil, err
	}
	p.in, p.ended = in, sync.OnceValue(p.end)
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("PyTorch: %w", err)
	}
	go p.listen(ctx, out)
	if p.ready, err = p.read(2 * time.Minute); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// listen forwards answers; it skips other lines, which libraries print.
func (p *peer) listen(ctx context.Context, out io.Reader) {
	defer close(p.answers)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &a) != nil {
			continue
		}
		select {
		case p.answers <- a:
		case <-ctx.Done():
			return
		}
	}
}

func (p *peer) read(limit time.Duration) (answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a, ok := <-p.answers:
		if !ok {
			err := p.ended()
			return a, fmt.Errorf("PyTorch ended (%w): %s", errors.Join(err, errEnded), lastLines(p.errs.String(), 3))
		}
		if a.Error != "" {
			return a, fmt.Errorf("PyTorch: %s", a.Error)
		}
		return a, nil
	case <-timer.C:
		p.cancel()
		return answer{}, fmt.Errorf("PyTorch: no answer in %v: %w", limit.Round(time.Second), errEnded)
	}
}

// errEnded reports that a peer can no longer be used.
var errEnded = errors.New("it has ended")

// ask sends a command and waits for the answer, up to a limit.
func (p *peer) ask(limit time.Duration, words ...any) (answer, error) {
	_, broken := fmt.Fprintln(p.in, words...)
	a, err := p.read(limit) // includes its last error output
	if broken != nil && err == nil {
		err = fmt.Errorf("PyTorch: %w: %w", broken, errEnded)
	}
	return a, err
}

// end is the first call of ended.
func (p *peer) end() error {
	timer := time.AfterFunc(10*time.Second, p.cancel)
	defer timer.Stop()
	return p.cmd.Wait()
}

// stop ends the process.
func (p *peer) stop() error {
	defer p.cancel()
	p.in.Close()
	timer := time.AfterFunc(10*time.Second, p.cancel)
	defer timer.Stop()
	for range p.answers {
	}
	var exit *exec.ExitError
	if err := p.ended(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

// lastLines are the last n lines of a process's error output.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
