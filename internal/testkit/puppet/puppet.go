package puppet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const dirEnv = "GOESTIMATOR_PUPPET_DIR"

// Env returns the variables that make a test binary a puppet whose files are in
// dir. The second one also makes it exit at once under the race detector.
func Env(dir string) []string {
	return []string{dirEnv + "=" + dir, "GORACE=atexit_sleep_ms=0"}
}

// Command returns the command line of puppets. Each part is TASK=STEPS, where
// TASK is a type (worker), a task (worker-1) or * for all others. Steps are
// joined by "+" and done in their order:
//
//	say:TEXT    print a line to standard output
//	warn:TEXT   print a line to standard error
//	env:NAME    print the environment variable as NAME=VALUE
//	touch:FILE  write the file
//	await:FILE  wait until the file is there
//	once:N      exit with code N, the first time that the task comes here
//	exit:N      exit with code N
//	term:N      wait for SIGTERM, print "saved", exit with code N
//	deaf        ignore SIGTERM and go on
//	forever     wait without end
//
// A puppet that comes to the end of its steps exits with code 0.
func Command(parts ...string) []string { return append([]string{os.Args[0]}, parts...) }

// Main acts as a puppet if [Env] is set, and then does not return.
func Main() {
	if dir := os.Getenv(dirEnv); dir != "" {
		os.Exit(act(dir, os.Args[1:]))
	}
}

// task is the task of this process; a job with one task has no TF_CONFIG.
func task() (typ, name string) {
	var c struct {
		Task struct {
			Type  string
			Index int
		}
	}
	if json.Unmarshal([]byte(os.Getenv("TF_CONFIG")), &c) != nil {
		return "alone", "alone"
	}
	return c.Task.Type, fmt.Sprintf("%s-%d", c.Task.Type, c.Task.Index)
}

func act(dir string, parts []string) int {
	typ, name := task()
	for _, key := range []string{name, typ, "*"} {
		for _, p := range parts {
			if steps, ok := strings.CutPrefix(p, key+"="); ok {
				return perform(dir, name, steps)
			}
		}
	}
	return 0
}

func perform(dir, name, steps string) int {
	terminated := make(chan os.Signal, 1)
	for _, s := range strings.Split(steps, "+") {
		verb, arg, _ := strings.Cut(s, ":")
		code, _ := strconv.Atoi(arg)
		switch verb {
		case "say":
			fmt.Println(arg)
		case "warn":
			fmt.Fprintln(os.Stderr, arg)
		case "env":
			fmt.Printf("%s=%s\n", arg, os.Getenv(arg))
		case "touch":
			touch(filepath.Join(dir, arg))
		case "await":
			for !exists(filepath.Join(dir, arg)) {
				time.Sleep(2 * time.Millisecond)
			}
		case "once":
			if marker := filepath.Join(dir, "once-"+name); !exists(marker) {
				touch(marker)
				return code
			}
		case "exit":
			return code
		case "term":
			signal.Notify(terminated, syscall.SIGTERM)
			touch(filepath.Join(dir, "ready-"+name))
			<-terminated
			fmt.Println("saved")
			return code
		case "deaf":
			signal.Ignore(syscall.SIGTERM)
			touch(filepath.Join(dir, "ready-"+name))
		case "forever":
			for {
				time.Sleep(time.Hour)
			}
		default:
			fmt.Fprintf(os.Stderr, "puppet: unknown step %q\n", s)
			return 2
		}
	}
	return 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func touch(path string) {
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "puppet:", err)
		os.Exit(2)
	}
}
