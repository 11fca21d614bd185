package launcher

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// Slurm describes a job for Slurm.
type Slurm struct {
	Job
	Name        string
	LogDir      string // one file for each task; empty: one file for all, lines begin with the rank
	ModelDir    string // tasks get it as GOESTIMATOR_MODEL_DIR; empty: the config's
	MaxRestarts int    // of the whole job
}

// A Slurm job derives its ports from its job number. They lie below the system's
// ephemeral ports.
const (
	firstPort = 12000
	portRange = 20000
)

// WriteSbatch writes a script for sbatch. A single srun starts all tasks, in
// blocks, so that each finds its role from its rank like the Slurm resolver.
func WriteSbatch(w io.Writer, s Slurm) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if s.Name == "" || strings.ContainsAny(s.Name, "\n\r") {
		return fmt.Errorf("name: got %q, expected one line", s.Name)
	}
	if strings.ContainsAny(s.LogDir, "\n\r") {
		return fmt.Errorf("log folder: got %q, expected one line", s.LogDir)
	}
	if s.Restart == replica.Always || s.Restart == replica.OnFailure {
		return fmt.Errorf("restart policy %s: on Slurm, expected never or exit-code (a job that ended with 128 or more is queued again)", s.Restart)
	}
	var b strings.Builder
	s.head(&b)
	s.exports(&b)
	s.run(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s Slurm) head(b *strings.Builder) {
	fmt.Fprintf(b, "#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH --ntasks=%d\n", quote(s.Name), len(s.Tasks()))
	if s.CoresPerTask > 0 {
		fmt.Fprintf(b, "#SBATCH --cpus-per-task=%d\n", s.CoresPerTask)
	}
	b.WriteString("# SIGTERM this many seconds before the time limit, so that a checkpoint is written:\n")
	fmt.Fprintf(b, "#SBATCH --signal=TERM@%d\n", int(math.Ceil(s.Grace.Seconds())))
	fmt.Fprintf(b, "#SBATCH --open-mode=append\n")
	if s.restarts() {
		b.WriteString("#SBATCH --requeue\n")
	}
	b.WriteString("set -euo pipefail\n\n")
}

// restarts reports whether Slurm queues the job again after a failure that a restart may fix.
func (s Slurm) restarts() bool { return s.Restart != replica.Never && s.MaxRestarts > 0 }

func (s Slurm) exports(b *strings.Builder) {
	var jobs []string
	for _, c := range s.counts() {
		if c.n > 0 {
			jobs = append(jobs, fmt.Sprintf("%s=%d", c.job, c.n))
		}
	}
	slices.Sort(jobs)
	n := len(s.Tasks())
	b.WriteString("# Each task finds its place from these and from what Slurm tells it.\n")
	b.WriteString("export GOESTIMATOR_RUN_CLUSTER_RESOLVER=slurm\n")
	fmt.Fprintf(b, "export GOESTIMATOR_SLURM_JOBS=%s\n", strings.Join(jobs, ","))
	fmt.Fprintf(b, "export GOESTIMATOR_SLURM_PORT_BASE=$((%d + SLURM_JOB_ID %% %d * %d))\n", firstPort, portRange/n, n)
	fmt.Fprintf(b, "export %[1]s=\"${%[1]s:-$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')}\"\n", TokenEnv)
	fmt.Fprintf(b, "export %[1]s=\"${%[1]s:-slurm-$SLURM_JOB_ID}\"\n", JobIDEnv)
	if s.ModelDir != "" {
		fmt.Fprintf(b, "export GOESTIMATOR_MODEL_DIR=%s\n", quote(s.ModelDir))
	}
	for _, pair := range s.coreEnv() {
		fmt.Fprintf(b, "export %s\n", pair)
	}
	b.WriteString("unset TF_CONFIG\n\n")
}

func (s Slurm) run(b *strings.Builder) {
	output := "--label"
	if s.LogDir != "" {
		fmt.Fprintf(b, "mkdir -p %s\n", quote(s.LogDir))
		output = "--output=" + quote(s.LogDir+"/%x-%j-task%t.log")
	}
	var words []string
	for _, w := range s.Command {
		words = append(words, quote(w))
	}
	cores := ""
	if s.CoresPerTask > 0 {
		cores = fmt.Sprintf("--cpus-per-task=%d ", s.CoresPerTask)
	}
	b.WriteString("code=0\n")
	fmt.Fprintf(b, "srun --ntasks=\"$SLURM_NTASKS\" --distribution=block --kill-on-bad-exit=1 --wait=0 %s%s %s || code=$?\n", cores, output, strings.Join(words, " "))
	if s.restarts() {
		b.WriteString("# srun tells the highest code. Tasks that were killed because another failed count too, so\n# that a job which fails for good ends by the bound on its restarts.\n")
		fmt.Fprintf(b, "if [ \"$code\" -ge 128 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt %d ]; then\n  scontrol requeue \"$SLURM_JOB_ID\"\nfi\n", s.MaxRestarts)
	}
	b.WriteString("exit \"$code\"\n")
}

// quote quotes a text as one word for a shell.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
