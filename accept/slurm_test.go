//go:build linux

package accept

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
)

// slurmConf configures a Slurm whose nodes have loopback addresses, so that tasks of two nodes may have equal ports.
var slurmConf = template.Must(template.New("slurm.conf").Parse(`ClusterName=accept
SlurmctldHost={{.Host}}(127.0.0.1)
SlurmctldPort={{index .Ports 0}}
AuthType=auth/munge
AuthInfo=socket={{.Dir}}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool-%n
SlurmctldPidFile={{.Dir}}/slurmctld.pid
SlurmdPidFile={{.Dir}}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
NodeName=127.0.0.2 NodeHostname={{.Host}} NodeAddr=127.0.0.1 Port={{index .Ports 1}} CPUs=2
NodeName=127.0.0.3 NodeHostname={{.Host}} NodeAddr=127.0.0.1 Port={{index .Ports 2}} CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`))

// slurm is a Slurm cluster on this machine.
type slurm struct {
	t    *testing.T
	conf string
	logs *sink
}

// startSlurm starts munge, Slurm's controller and two nodes, and stops them when the test ends.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "srun"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: Slurm is not here (Debian's slurm-wlm and munge): %v", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("skipped: this Slurm runs as root")
	}
	dir, err := os.MkdirTemp("/tmp", "slurm") // munge wants folders that nobody else can write, and short socket paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ports, err := freeport.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	values := struct {
		Dir, Host string
		Ports     []string
	}{Dir: dir, Host: strings.Split(host, ".")[0]}
	for i := range 3 {
		_, port, _ := strings.Cut(ports.Address(i), ":")
		values.Ports = append(values.Ports, port)
	}
	var conf bytes.Buffer
	if err := slurmConf.Execute(&conf, values); err != nil {
		t.Fatal(err)
	}
	s := &slurm{t: t, conf: filepath.Join(dir, "slurm.conf"), logs: newSink()}
	key := bytes.Repeat([]byte(testkitSecret), 64)
	for name, text := range map[string][]byte{"slurm.conf": conf.Bytes(), "munge.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.daemon("munged", "--foreground", "--force", "--key-file="+dir+"/munge.key", "--socket="+dir+"/munge.sock", "--pid-file="+dir+"/munged.pid", "--seed-file="+dir+"/munged.seed", "--log-file="+dir+"/munged.log")
	s.until("munge's socket", func() bool { _, err := os.Stat(dir + "/munge.sock"); return err == nil })
	s.daemon("slurmctld", "-D", "-f", s.conf)
	s.daemon("slurmd", "-D", "-f", s.conf, "-N", "127.0.0.2")
	s.daemon("slurmd", "-D", "-f", s.conf, "-N", "127.0.0.3")
	s.until("two idle nodes", func() bool {
		out, err := s.run("", "sinfo", "-h", "-o", "%D %t")
		return err == nil && strings.TrimSpace(out) == "2 idle"
	})
	return s
}

// testkitSecret is the key of munge, which runs only during a test.
const testkitSecret = "not a secret 01."

// daemon starts a process of Slurm.
func (s *slurm) daemon(args ...string) {
	s.t.Helper()
	p, err := proc.Start(proc.Command{Args: args, Env: append(os.Environ(), "SLURM_CONF="+s.conf), Stdout: s.logs, Stderr: s.logs, Linger: 5 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = p.Signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-p.Done():
		case <-time.After(10 * time.Second):
			_ = p.Signal(syscall.SIGKILL)
			<-p.Done()
		}
		if s.t.Failed() {
			s.t.Logf("the last lines of Slurm:\n%s", tail(s.logs.String()))
		}
	})
}

// run runs a Slurm command with a text as its standard input.
func (s *slurm) run(input string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Dir = append(os.Environ(), "SLURM_CONF="+s.conf, "NO_COLOR=1"), strings.NewReader(input), testkit.Root()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *slurm) until(what string, f func() bool) {
	s.t.Helper()
	for end := time.Now().Add(4 * patience); !f(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not after %v", what, 4*patience)
		}
	}
}

// state returns the state of a job and how often it was requeued.
func (s *slurm) state(id string) (state string, restarts int) {
	out, _ := s.run("", "scontrol", "show", "job", id) // it prints nothing while it is busy
	if m := jobLine.FindStringSubmatch(out); m != nil {
		restarts, _ = strconv.Atoi(m[2])
		return m[1], restarts
	}
	return "", 0
}

var jobLine = regexp.MustCompile(`(?s)JobState=(\w+).*Restarts=(\d+)`)

// TestSlurm submits a script written by launch to a real Slurm of two nodes. A worker is killed: the job is requeued,
// continues from its checkpoint and ends.
func TestSlurm(t *testing.T) {
	whole(t)
	s := startSlurm(t)
	path, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	dir, logs := filepath.Join(t.TempDir(), "model"), t.TempDir()
	steps := 30_000
	script, err := s.run("", path, "launch", "--on", "slurm", "--name", "accept", "--chief", "1", "--workers", "2", "--ps", "1", "--model-dir", dir, "--log-dir", logs, "--",
		path, "train", "--config", filepath.Join(testkit.Root(), "accept/testdata/cluster.yaml"), "--set", "strategy.name=parameter_server",
		"--set", fmt.Sprintf("train.max_steps=%d", steps), "--set", "run.save_checkpoints_steps=2000", "--set", "run.log_step_count_steps=2000")
	if err != nil {
		t.Fatalf("launch: %v: %s", err, script)
	}
	t.Cleanup(func() {
		if t.Failed() {
			files, _ := filepath.Glob(logs + "/*")
			for _, f := range files {
				text, _ := os.ReadFile(f)
				t.Logf("%s:\n%s", f, tail(string(text)))
			}
		}
	})
	out, err := s.run(script, "sbatch", "--parsable", "--output="+logs+"/script.log")
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, out)
	}
	id := strings.TrimSpace(out)
	saved := func() (step int64) {
		if prefix, err := checkpoint.LatestPrefix(dir); err == nil {
			step, _ = checkpoint.StepOf(prefix)
		}
		return step
	}
	s.until("a checkpoint", func() bool { return saved() >= 2000 })
	killOne(t, dir)
	s.until("the job runs again", func() bool { state, restarts := s.state(id); return state == "RUNNING" && restarts == 1 })
	at := saved()
	s.until("a newer checkpoint", func() bool { return saved() > at })
	s.until("the end", func() bool { state, _ := s.state(id); return state == "COMPLETED" || state == "FAILED" })
	if state, restarts := s.state(id); state != "COMPLETED" || restarts != 1 || saved() < int64(steps) {
		t.Errorf("the job is %s after %d restarts, at step %d", state, restarts, saved())
	}
}

// killOne kills a task that trains, like the kernel when memory runs out. It recognizes tasks by their model_dir.
func killOne(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ")) // it may have ended already
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if bytes.Contains(env, []byte("GOESTIMATOR_MODEL_DIR="+dir)) && bytes.Contains(env, []byte("SLURM_PROCID=3")) && bytes.Contains(line, []byte("train\x00--config")) && !bytes.Contains(line, []byte("srun")) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no task of rank 3 runs")
}
