package distribute

import (
	"os"
	"regexp"
	"strconv"
)

// neighbours is this process's place among the processes that train on its machine.
type neighbours struct {
	rank  int // -1: not known
	count int // 0: not known
	each  int // GPUs that the launcher has promised each process; 0: none
}

// launchers are the environment variables with which launchers number the processes of a machine: torchrun and
// `goestimator launch`, Slurm, Open MPI.
var launchers = []struct{ rank, count, each string }{
	{"LOCAL_RANK", "LOCAL_WORLD_SIZE", ""},
	{"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_GPUS_PER_TASK"},
	{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
}

// findNeighbours reads the variables of launchers.
func findNeighbours(getenv func(string) string) neighbours {
	for _, l := range launchers {
		rank, ok := number(getenv(l.rank))
		if !ok {
			continue
		}
		n := neighbours{rank: rank}
		n.count, _ = number(getenv(l.count))
		n.each, _ = number(getenv(l.each))
		if n.count <= rank {
			n.count = 0 // invalid
		}
		return n
	}
	return neighbours{rank: -1}
}

// counts matches a number, or Slurm's form for the same number on several nodes: 4(x2).
var counts = regexp.MustCompile(`^(\d{1,4})(\(x\d+\))?$`)

func number(text string) (int, bool) {
	m := counts.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// share returns which of the machine's GPUs this process takes. They are divided among the processes of the machine;
// more processes than GPUs share them. A process that does not know the number of processes takes want GPUs, or one.
// A process that does not know its own number takes all.
func (n neighbours) share(gpus, want int) []int {
	each := n.each
	if each == 0 && n.count == 0 {
		each = max(want, 1)
	}
	switch {
	case n.rank < 0 || gpus == 0 || n.each >= gpus: // a launcher that promises GPUs may show only these
		return numbers(0, gpus)
	case each > 0 && (n.rank+1)*each <= gpus:
		return numbers(n.rank*each, (n.rank+1)*each)
	case each == 0 && n.count < gpus:
		return numbers(n.rank*gpus/n.count, (n.rank+1)*gpus/n.count)
	}
	return numbers(n.rank%gpus, n.rank%gpus+1)
}

// numbers returns the numbers from first to end-1.
func numbers(first, end int) []int {
	var out []int
	for i := first; i < end; i++ {
		out = append(out, i)
	}
	return out
}

// ownGPUs returns the numbers of the GPUs that this process takes for replicas: all visible ones or, for a strategy of
// several processes, its share.
func (c Config) ownGPUs() []int {
	count := c.devices().Count()
	switch c.Name {
	case multiWorkerName, parameterServerName:
		return findNeighbours(os.Getenv).share(count, c.Replicas)
	}
	return numbers(0, count)
}
