//go:build unix

package launcher

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/runconfig"
)

// TestSbatchScriptRuns runs the script with stand-ins for srun and scontrol.
func TestSbatchScriptRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("skipped: bash is not here")
	}
	bin, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"srun":     "#!/bin/sh\nfor a; do echo \"arg:$a\"; done\nenv | grep ^GOESTIMATOR_\nexit 138\n",
		"scontrol": "#!/bin/sh\necho \"scontrol:$*\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var script bytes.Buffer
	s := Slurm{Job: fashion, Name: "fashion", LogDir: "logs of mine", MaxRestarts: 2}
	if err := WriteSbatch(&script, s); err != nil {
		t.Fatal(err)
	}
	for restarts, requeued := range map[string]bool{"": true, "1": true, "2": false} {
		cmd := exec.Command(bash, "-s")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(script.Bytes())
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SLURM_JOB_ID=70007", "SLURM_NTASKS=6", "SLURM_RESTART_COUNT=" + restarts, "TF_CONFIG=old"}
		out, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 138 {
			t.Errorf("exit code %d, want that of srun", code)
		}
		if got := strings.Contains(string(out), "scontrol:requeue 70007"); got != requeued {
			t.Errorf("after %q restarts: queued again %v", restarts, got)
		}
		requireScript(t, strings.Split(string(out), "\n"), fashion.Command)
	}
}

// requireScript checks the arguments and environment of srun.
func requireScript(t *testing.T, lines, command []string) {
	t.Helper()
	env := map[string]string{}
	var args []string
	for _, line := range lines {
		if arg, ok := strings.CutPrefix(line, "arg:"); ok {
			args = append(args, arg)
		} else if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	if n := len(args) - len(command); n < 0 || !slices.Equal(args[n:], command) || !slices.Contains(args, "--ntasks=6") {
		t.Errorf("arguments of srun: %q", args)
	}
	if len(env[TokenEnv]) != 64 {
		t.Errorf("token %q", env[TokenEnv])
	}
	for name, value := range map[string]string{"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "3(x2)"} {
		env[name] = value
	}
	got, err := runconfig.SlurmTFConfig(func(name string) string { return env[name] })
	want := `{"cluster":{"chief":["n1:12084"],"evaluator":["n1:12085"],"ps":["n1:12086","n2:12084"],"worker":["n2:12085","n2:12086"]},"task":{"type":"worker","index":1},"environment":"cloud"}`
	if err != nil || got != want {
		t.Errorf("TF_CONFIG of the last task: %v\n got %s\nwant %s", err, got, want)
	}
}
