package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/cmd/cli"
)

// The cores that server and client are pinned to, if taskset is installed.
const serverCore, clientCore = "0", "1"

// pinned is a command that runs on one core.
func pinned(core string, argv ...string) []string {
	if taskset, err := exec.LookPath("taskset"); err == nil {
		return append([]string{taskset, "-c", core}, argv...)
	}
	return argv
}

// server is a model server in a separate process, which ends when in is closed.
type server struct {
	cmd     *exec.Cmd
	in      io.Closer
	errs    strings.Builder
	address string
	version string
}

// startServer runs a command that prints {"grpc": ADDRESS} once it serves.
func startServer(argv ...string) (*server, error) {
	argv = pinned(serverCore, argv...)
	s := &server{cmd: exec.Command(argv[0], argv[1:]...)}
	s.cmd.Stderr = &s.errs
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in = in
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var at struct{ GRPC, Version string }
		if json.Unmarshal(lines.Bytes(), &at) == nil && at.GRPC != "" {
			s.address, s.version = at.GRPC, at.Version
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, nil
		}
	}
	s.stop()
	return nil, fmt.Errorf("the server ended: %s", lastLines(s.errs.String(), 5))
}

// stop ends the process.
func (s *server) stop() {
	s.in.Close()
	kill := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // killed, or ended by the end of its input
}

// cpu is the processor time that the server has used, in seconds; false if the system does not report it.
func (s *server) cpu() (float64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(b), ") ") // after the process name
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100, err1 == nil && err2 == nil // USER_HZ is 100 on Linux
}

// serveWorker runs goestimator serve with free ports: bench worker serve DIR FLAGS.
func serveWorker(_ *link, args []string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	line := []string{"serve", "--host", "127.0.0.1", "--port", "0", "--rest-port", "0", "--json", "--drain-seconds", "1"}
	for _, name := range servedModels {
		line = append(line, "--model", name+"="+filepath.Join(args[0], "models", name))
	}
	if code := cli.Run(ctx, append(line, args[1:]...), os.Stdout, os.Stderr); code != 0 {
		return fmt.Errorf("serve ended with %d", code)
	}
	return nil
}
