package distribute

import (
	"fmt"
	"slices"
	"testing"
)

// hideLaunchers makes this process one that no launcher has numbered.
func hideLaunchers(t *testing.T) {
	t.Helper()
	for _, l := range launchers {
		t.Setenv(l.rank, "")
	}
}

// TestShareOfMachine: which GPUs a process takes, depending on its launcher.
func TestShareOfMachine(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		gpus int
		want int // replicas
		get  []int
	}{
		{nil, 4, 0, []int{0, 1, 2, 3}},
		{nil, 0, 0, nil},
		{map[string]string{"LOCAL_RANK": "x"}, 2, 0, []int{0, 1}},
		{map[string]string{"LOCAL_RANK": "-1"}, 2, 0, []int{0, 1}},
		{map[string]string{"LOCAL_RANK": "2"}, 4, 0, []int{2}},
		{map[string]string{"LOCAL_RANK": "1"}, 4, 2, []int{2, 3}},
		{map[string]string{"LOCAL_RANK": "5"}, 4, 0, []int{1}},
		{map[string]string{"LOCAL_RANK": "5"}, 0, 0, nil},
		{map[string]string{"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}, 4, 0, []int{0, 1, 2, 3}},
		{map[string]string{"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, 4, 0, []int{2, 3}},
		{map[string]string{"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "3"}, 4, 0, []int{1}},
		{map[string]string{"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "3"}, 4, 0, []int{2, 3}},
		{map[string]string{"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}, 4, 0, []int{3}},
		{map[string]string{"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}, 2, 0, []int{1}},
		{map[string]string{"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "2"}, 4, 0, []int{3}},
		{map[string]string{"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}, 4, 0, []int{0, 1, 2, 3}},
		{map[string]string{"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2(x8)"}, 8, 0, []int{4, 5, 6, 7}},
		{map[string]string{"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "3,1"}, 4, 0, []int{1}},
		{map[string]string{"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_GPUS_PER_TASK": "2"}, 2, 0, []int{0, 1}},
		{map[string]string{"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_GPUS_PER_TASK": "2"}, 4, 0, []int{2, 3}},
		{map[string]string{"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 2, 0, []int{1}},
	} {
		n := findNeighbours(func(name string) string { return c.env[name] })
		if got := n.share(c.gpus, c.want); !slices.Equal(got, c.get) {
			t.Errorf("%v, %d GPUs, %d replicas: expected %v, got %v", c.env, c.gpus, c.want, c.get, got)
		}
	}
}

// TestSharesAreDivided: if a launcher sets the number of processes, and there are GPUs for all, each GPU belongs to one process.
func TestSharesAreDivided(t *testing.T) {
	for gpus := 1; gpus <= 8; gpus++ {
		for count := 1; count <= gpus; count++ {
			var all []int
			for rank := range count {
				all = append(all, neighbours{rank: rank, count: count}.share(gpus, 0)...)
			}
			if !slices.Equal(all, numbers(0, gpus)) {
				t.Error(fmt.Sprintf("%d processes, %d GPUs:", count, gpus), all)
			}
		}
	}
}
