package runconfig

import (
	"slices"
	"strings"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// role is one task's place in a cluster, derived from TF_CONFIG by the rules of
// tf.estimator's run_config.py, extended to the forms that TFJob writes.
type role struct {
	cluster    ClusterSpec
	taskType   string
	taskID     int
	master     string
	evalMaster string
	isChief    bool
	numPS      int
	numWorkers int
	globalID   int // -1: none
	workerRank int // -1: does not train
}

func deriveRole(tf tfConfig, strict bool, vs *violation.List) role {
	if tf.cluster.sparse {
		placeOwnPS(&tf)
	}
	switch {
	case tf.taskType == Evaluator && !strict && tf.cluster.NumTasks(Master) == 0:
		return evaluatorRole(tf, vs)
	case tf.cluster.Len() == 0 && (!tf.cluster.sparse || strict):
		return localRole(tf, vs)
	default:
		return clusterRole(tf, strict, vs)
	}
}

// placeOwnPS moves the only address that a sparse cluster has for a parameter server,
// its own, from index 0 of the list to the task's index.
func placeOwnPS(tf *tfConfig) {
	if tf.taskType != PS || tf.taskIndex == nil || tf.cluster.NumTasks(PS) != 1 {
		return
	}
	if a, ok := tf.cluster.Address(PS, 0); ok && *tf.taskIndex > 0 {
		tf.cluster.jobs[PS] = map[int]string{*tf.taskIndex: a}
	}
}

// localRole is the role of a process without a cluster.
func localRole(tf tfConfig, vs *violation.List) role {
	if tf.taskType != "" && tf.taskType != Worker {
		vs.Add("TF_CONFIG.task.type", tf.taskType, `if "cluster" is not set in TF_CONFIG, task type must be worker`)
	}
	if tf.taskIndex != nil && *tf.taskIndex != 0 {
		vs.Add("TF_CONFIG.task.index", *tf.taskIndex, `if "cluster" is not set in TF_CONFIG, task index must be 0`)
	}
	return role{taskType: Worker, master: tf.sessionMaster, evalMaster: tf.evalMaster, isChief: true, numWorkers: 1}
}

// evaluatorRole is the role of an evaluator: outside the cluster, even if listed in it.
func evaluatorRole(tf tfConfig, vs *violation.List) role {
	requireOneChief(tf.cluster, vs)
	return role{taskType: Evaluator, taskID: checkIndex(tf, tf.cluster.Len() > 0, vs), evalMaster: tf.evalMaster, globalID: -1, workerRank: -1}
}

// checkIndex returns task.index, which must be set if needed.
func checkIndex(tf tfConfig, needed bool, vs *violation.List) int {
	if tf.taskIndex == nil {
		if needed && !tf.taskBad {
			vs.Add("TF_CONFIG.task.index", nil, `if "cluster" is set in TF_CONFIG, task index must be set`)
		}
		return 0
	}
	vs.Require(*tf.taskIndex >= 0, "TF_CONFIG.task.index", *tf.taskIndex, "task index must be a number >= 0")
	return *tf.taskIndex
}

func clusterRole(tf tfConfig, strict bool, vs *violation.List) role {
	c := tf.cluster
	promoted := checkChief(tf, strict, vs)
	vs.Require(tf.taskType != "" || tf.taskBad, "TF_CONFIG.task.type", nil, `if "cluster" is set in TF_CONFIG, task type must be set`)
	index := checkIndex(tf, true, vs)
	named := tf.taskType != "" && tf.taskIndex != nil && index >= 0 && !tf.taskBad
	switch {
	case named && tf.taskType == Evaluator && len(vs.Found) == 0:
		return evaluatorRole(tf, vs)
	case named && tf.taskType != Evaluator:
		checkListed(tf, vs)
	}
	r := role{
		cluster:    c,
		taskType:   tf.taskType,
		taskID:     index,
		master:     masterAddress(tf, index),
		evalMaster: tf.evalMaster,
		isChief:    tf.taskType == Chief || tf.taskType == Master || promoted && tf.taskType == Worker && index == 0,
		numPS:      c.NumTasks(PS),
		numWorkers: c.NumTasks(Worker) + c.NumTasks(Chief) + c.NumTasks(Master),
	}
	r.globalID = globalID(c, r.taskType, index, promoted)
	r.workerRank = workerRank(r, promoted)
	if r.workerRank >= 0 {
		r.numWorkers = max(r.numWorkers, 1) // the chief of a sparse cluster is not listed
	}
	return r
}

// checkChief checks the number of chiefs, and reports whether worker 0 takes the chief's place.
func checkChief(tf tfConfig, strict bool, vs *violation.List) (promoted bool) {
	c := tf.cluster
	chiefs, masters := c.NumTasks(Chief), c.NumTasks(Master)
	if masters > 0 {
		vs.Require(masters == 1, "TF_CONFIG.cluster.master", masters, `the "cluster" in TF_CONFIG must have only one "master" node`)
		vs.Require(chiefs == 0, "TF_CONFIG.cluster.chief", chiefs, "if a master node exists in cluster, job chief is not supported")
		vs.Require(tf.taskType != Evaluator, "TF_CONFIG.task.type", tf.taskType, "if a master node exists in cluster, task type evaluator is not supported")
		return false
	}
	requireOneChief(c, vs)
	if chiefs > 0 {
		return false
	}
	if strict {
		vs.Add("TF_CONFIG.cluster.chief", 0, `if "cluster" is set in TF_CONFIG, it must have one "chief" node (run.strict_tf_config is on)`)
		return false
	}
	if c.sparse && (tf.taskType == Chief || tf.taskType == Master) {
		return false
	}
	vs.Require(c.NumTasks(Worker) > 0 || c.sparse, "TF_CONFIG.cluster", c.String(), "expected a chief, or a worker to take its part")
	return true
}

func requireOneChief(c ClusterSpec, vs *violation.List) {
	n := c.NumTasks(Chief)
	vs.Require(n <= 1, "TF_CONFIG.cluster.chief", n, `the "cluster" in TF_CONFIG must have only one "chief" node`)
}

// checkListed looks the task up in the cluster. A sparse cluster does not list
// its chief.
func checkListed(tf tfConfig, vs *violation.List) {
	c := tf.cluster
	if c.sparse && (tf.taskType == Chief || tf.taskType == Master) {
		return
	}
	if c.NumTasks(tf.taskType) == 0 {
		vs.Add("TF_CONFIG.task.type", tf.taskType, "expected one of the cluster's jobs: "+strings.Join(c.Jobs(), ", "))
		return
	}
	if _, ok := c.Address(tf.taskType, *tf.taskIndex); !ok {
		vs.Add("TF_CONFIG.task.index", *tf.taskIndex, "expected the index of a "+tf.taskType+" task in the cluster "+c.String())
	}
}

// masterAddress returns session_master if set, else "" for a single node, else the
// task's own address.
func masterAddress(tf tfConfig, index int) string {
	if tf.sessionMaster != "" {
		return tf.sessionMaster
	}
	address, ok := tf.cluster.Address(tf.taskType, index)
	if !ok || tf.cluster.Len() == 1 && !tf.cluster.sparse {
		return ""
	}
	return "grpc://" + address
}

// globalID numbers the tasks: 0 for the chief (or the worker in its place), then the
// other jobs in alphabetical order, parameter servers last. It is -1 in a sparse
// cluster, which does not list all tasks.
func globalID(c ClusterSpec, taskType string, index int, promoted bool) int {
	if c.sparse {
		return -1
	}
	type task struct {
		job   string
		index int
	}
	var order []task
	for _, job := range c.Jobs() {
		for _, i := range c.Tasks(job) {
			order = append(order, task{job, i})
		}
	}
	group := func(t task) int {
		switch {
		case t.job == Chief, t.job == Master, promoted && t.job == Worker && t.index == 0:
			return 0
		case t.job == PS:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b task) int { return group(a) - group(b) })
	return slices.Index(order, task{taskType, index})
}

// workerRank numbers the tasks that train: 0 for the chief and i+1 for worker i or, if
// worker 0 takes the chief's place, i for worker i.
func workerRank(r role, promoted bool) int {
	switch {
	case r.taskType == Chief || r.taskType == Master:
		return 0
	case r.taskType == Worker && promoted:
		return r.taskID
	case r.taskType == Worker:
		return r.taskID + 1
	}
	return -1
}
