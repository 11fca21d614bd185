package runconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

// SlurmPortBase is the port of the first task on each node of a Slurm job, unless
// GOESTIMATOR_SLURM_PORT_BASE is set. Further tasks on a node have the following ports.
const SlurmPortBase = 8888

// SlurmTFConfig returns the TF_CONFIG of this task of a Slurm job step, "" if the step
// has a single task. GOESTIMATOR_SLURM_JOBS lists the tasks, such as
// "chief=1,worker=3,ps=2". Like tf.distribute's SlurmClusterResolver, it assigns them
// to the ranks of the step in the alphabetical order of the jobs, and ranks to nodes
// in blocks of as many tasks as each node has.
//
// It reads SLURM_PROCID, SLURM_NTASKS, SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE.
// Instead of the last three it prefers the step's own variables. It reads SLURM_NODEID
// to check that ranks are in blocks.
func SlurmTFConfig(getenv func(string) string) (string, error) {
	s := slurmEnv{getenv: getenv}
	step, err := s.step()
	if err != nil {
		return "", fmt.Errorf("slurm: %w", err)
	}
	addresses, nodes, err := step.addresses()
	if err != nil {
		return "", fmt.Errorf("slurm: %w", err)
	}
	if text := getenv("SLURM_NODEID"); text != "" && text != strconv.Itoa(nodes[step.rank]) {
		return "", fmt.Errorf("slurm: rank %d runs on node %s, expected node %d: start the tasks in blocks (srun --distribution=block)", step.rank, text, nodes[step.rank])
	}
	cluster, own := step.cluster(addresses)
	return replica.TFConfig(cluster, own), nil
}

// slurmStep is what the tasks of a job step have in common, and this task's rank.
type slurmStep struct {
	rank, tasks  int
	hosts        []string
	tasksPerNode []int
	jobs         map[string]int
	portBase     int
}

type slurmEnv struct{ getenv func(string) string }

func (s slurmEnv) step() (slurmStep, error) {
	var step slurmStep
	var errs [6]error
	step.rank, errs[0] = s.number("SLURM_PROCID")
	step.tasks, errs[1] = s.number("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
	step.hosts, errs[2] = parsed(s, expandHosts, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
	step.tasksPerNode, errs[3] = parsed(s, expandTasksPerNode, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
	step.jobs, errs[4] = parsed(s, parseSlurmJobs, "GOESTIMATOR_SLURM_JOBS")
	step.portBase = SlurmPortBase
	if s.getenv("GOESTIMATOR_SLURM_PORT_BASE") != "" {
		step.portBase, errs[5] = s.number("GOESTIMATOR_SLURM_PORT_BASE")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return step, err
	}
	return step, step.check()
}

// value returns the first of the variables that is set.
func (s slurmEnv) value(names []string) (name, text string, err error) {
	for _, name := range names {
		if text := s.getenv(name); text != "" {
			return name, text, nil
		}
	}
	return "", "", fmt.Errorf("%s is not set: expected it in a task that srun started", names[len(names)-1])
}

func (s slurmEnv) number(names ...string) (int, error) {
	name, text, err := s.value(names)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: got %q, expected a number >= 0", name, text)
	}
	return n, nil
}

func parsed[T any](s slurmEnv, parse func(string) (T, error), names ...string) (T, error) {
	var none T
	name, text, err := s.value(names)
	if err != nil {
		return none, err
	}
	v, err := parse(text)
	if err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

func (s slurmStep) check() error {
	total := 0
	for _, n := range s.jobs {
		total += n
	}
	sum := 0
	for _, n := range s.tasksPerNode {
		sum += n
	}
	switch {
	case total != s.tasks:
		return fmt.Errorf("GOESTIMATOR_SLURM_JOBS has %d tasks, but the step has %d: expected as many", total, s.tasks)
	case s.rank >= s.tasks:
		return fmt.Errorf("SLURM_PROCID: got %d, expected less than the %d tasks of the step", s.rank, s.tasks)
	case len(s.hosts) != len(s.tasksPerNode):
		return fmt.Errorf("the node list has %d nodes, but tasks per node are given for %d", len(s.hosts), len(s.tasksPerNode))
	case sum != s.tasks:
		return fmt.Errorf("the nodes have %d tasks together, but the step has %d", sum, s.tasks)
	}
	return nil
}

// addresses returns the address and the node of each rank.
func (s slurmStep) addresses() (addresses []string, nodes []int, err error) {
	for node, host := range s.hosts {
		for i := range s.tasksPerNode[node] {
			port := s.portBase + i
			if port < 1 || port > 65535 {
				return nil, nil, fmt.Errorf("port %d of task %d on %s: expected 1 to 65535: change GOESTIMATOR_SLURM_PORT_BASE", port, i, host)
			}
			addresses = append(addresses, host+":"+strconv.Itoa(port))
			nodes = append(nodes, node)
		}
	}
	return addresses, nodes, nil
}

// cluster assigns the ranks' addresses to jobs, and returns the task with this rank.
func (s slurmStep) cluster(addresses []string) (map[string][]string, replica.Task) {
	cluster, own, first := map[string][]string{}, replica.Task{}, 0
	for _, job := range slices.Sorted(maps.Keys(s.jobs)) {
		n := s.jobs[job]
		if n == 0 {
			continue
		}
		cluster[job] = addresses[first : first+n]
		if s.rank >= first && s.rank < first+n {
			own = replica.Task{Type: job, Index: s.rank - first}
		}
		first += n
	}
	return cluster, own
}

// parseSlurmJobs reads chief=1,worker=3,ps=2.
func parseSlurmJobs(text string) (map[string]int, error) {
	jobs := map[string]int{}
	known := []string{Chief, Master, Worker, PS, Evaluator}
	for _, part := range strings.Split(text, ",") {
		job, count, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(count)
		switch {
		case !slices.Contains(known, job):
			return nil, fmt.Errorf("got job %q in %q, expected one of %s, as in chief=1,worker=3,ps=2", job, text, strings.Join(known, ", "))
		case err != nil || n < 0 || n > maxSlurmTasks:
			return nil, fmt.Errorf("got %q tasks of %s, expected a number from 0 to %d", count, job, maxSlurmTasks)
		}
		if _, twice := jobs[job]; twice {
			return nil, fmt.Errorf("job %s is listed twice in %q", job, text)
		}
		jobs[job] = n
	}
	return jobs, nil
}
