package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/runconfig"
)

// serverTask is the task that the command server runs.
type serverTask struct {
	cluster runconfig.ClusterSpec
	job     string
	index   int
	// config says how tasks connect.
	config runconfig.RPC
	// trains is the configuration of a ps task in a cluster that trains: it also serves jobs of this project. nil for other tasks.
	trains *runconfig.RunConfig
	// allow are the folders in which graphs may read and write checkpoints.
	allow  []string
	idle   time.Duration // idle time after which the server ends; 0: never
	drain  time.Duration // time for running steps when the server ends
	forget time.Duration // time after which sessions of silent masters are closed
	memory budget.Limits
	cpus   int    // number of CPU devices
	status string // host:port of the status page; empty: none
}

// maxCPUs bounds the CPU devices of a server.
const maxCPUs = 64

// serverTask is the task that the flags or TF_CONFIG describe. changed reports whether a flag is set.
func (f *serverFlags) serverTask(changed func(flag string) bool) (t serverTask, err error) {
	if t.cluster, err = f.place(changed); err != nil {
		return t, err
	}
	t.job, t.index, t.allow = f.task.Type, f.task.Index, f.allow
	t.memory = f.memory
	if f.status != "" {
		host, port, err := net.SplitHostPort(f.status)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n > 65535 {
			return t, fmt.Errorf("--status-address: got %q, expected host:port, as :9090", f.status)
		}
		t.status = net.JoinHostPort(cmp.Or(host, "localhost"), port)
	}
	t.idle, t.drain, t.forget = f.idle, time.Duration(f.drain)*time.Second, f.forget
	if f.idle < 0 || f.idle > 0 && f.idle < time.Second {
		return t, fmt.Errorf("--exit-when-idle: got %v, expected 1s or more, or 0", f.idle)
	}
	if f.forget < time.Second {
		return t, fmt.Errorf("--forget-after: got %v, expected 1s or more", f.forget)
	}
	if t.cpus = f.cpus; f.cpus < 1 || f.cpus > maxCPUs {
		return t, fmt.Errorf("--cpu-devices: got %d, expected 1 to %d", f.cpus, maxCPUs)
	}
	if f.drain < 1 || f.drain > 1<<20 {
		return t, fmt.Errorf("--drain-seconds: got %d, expected 1 to %d", f.drain, 1<<20)
	}
	for flag, n := range map[string]int64{budget.ServerFlag: f.memory.Server, budget.SessionFlag: f.memory.Request} {
		if n < 0 || n > 1<<60 {
			return t, fmt.Errorf("--%s: got %d, expected 0 to %d", flag, n, 1<<60)
		}
	}
	loaded, err := config.Load(config.LoadOptions{
		Path: f.sources.path,
		Sets: append(slices.Clone(f.sources.sets), "run.cluster_resolver=tf_config"),
		Env:  append(withoutTFConfig(os.Environ()), "TF_CONFIG="+t.tfConfig()),
	})
	if err != nil {
		return t, err
	}
	t.config = loaded.RPC
	if t.ownJobs() {
		rc, err := loaded.RunConfig()
		if err != nil {
			return t, err
		}
		t.trains = &rc
	}
	return t, nil
}

// place finds the cluster and this task in it. TF_CONFIG counts if --cluster-spec is not set.
func (f *serverFlags) place(changed func(flag string) bool) (c runconfig.ClusterSpec, err error) {
	source := "the cluster spec"
	if f.cluster != "" {
		jobs, err := parseClusterSpec(f.cluster)
		if err != nil {
			return c, fmt.Errorf("--cluster-spec: %w", err)
		}
		c = runconfig.NewClusterSpec(jobs)
		f.task.Type = cmp.Or(f.task.Type, onlyJob(c), replica.PS)
	} else {
		source = "the cluster of TF_CONFIG"
		if c, err = f.fromTFConfig(changed); err != nil {
			return c, err
		}
	}
	return c, f.checkTask(c, source)
}

// fromTFConfig fills in what the flags do not set. As in tf.train.Server, the job or task need not be named if there is only one.
func (f *serverFlags) fromTFConfig(changed func(flag string) bool) (runconfig.ClusterSpec, error) {
	c, job, index, err := runconfig.TaskOf(os.Getenv("TF_CONFIG"))
	switch {
	case err != nil:
		return c, err
	case c.Len() == 0:
		return c, errors.New("--cluster-spec is not set, nor is a cluster in TF_CONFIG: expected for example --cluster-spec 'worker|a:2222;b:2222,ps|c:2222'")
	}
	if f.task.Type = cmp.Or(f.task.Type, job, onlyJob(c)); f.task.Type == "" {
		return c, errors.New("must specify an explicit --job-name: TF_CONFIG names no task, and several jobs")
	}
	switch tasks := c.Tasks(f.task.Type); {
	case changed("task-index"):
	case index >= 0:
		f.task.Index = index
	case len(tasks) == 1:
		f.task.Index = tasks[0]
	case len(tasks) > 1:
		return c, fmt.Errorf("must specify an explicit --task-index: TF_CONFIG states none, and job %q contains %d tasks", f.task.Type, len(tasks))
	}
	return c, nil
}

// checkTask fails, with TensorFlow's messages, if the task is not in the cluster.
func (f *serverFlags) checkTask(c runconfig.ClusterSpec, source string) error {
	tasks := c.Tasks(f.task.Type)
	if len(tasks) == 0 {
		return fmt.Errorf("--job-name: Job name %q does not appear in %s: expected one of %s", f.task.Type, source, strings.Join(c.Jobs(), ", "))
	}
	if !slices.Contains(tasks, f.task.Index) {
		listed := ""
		if c.Sparse() {
			listed = fmt.Sprintf(", with the indices %d", tasks)
		}
		return fmt.Errorf("--task-index: Task index %d is invalid (job %q contains %d tasks%s)", f.task.Index, f.task.Type, len(tasks), listed)
	}
	return nil
}

// onlyJob is the only job of a cluster; "" if there are several.
func onlyJob(c runconfig.ClusterSpec) string {
	if jobs := c.Jobs(); len(jobs) == 1 {
		return jobs[0]
	}
	return ""
}

// ownJobs reports whether a task is a parameter server for this project's jobs: a ps task in a cluster that trains, in which
// this project knows every job.
func (t serverTask) ownJobs() bool {
	known := []string{replica.Chief, replica.Master, replica.Worker, replica.PS, replica.Evaluator}
	jobs := t.cluster.Jobs()
	trainers := slices.ContainsFunc(known[:3], func(job string) bool { return slices.Contains(jobs, job) })
	return t.job == replica.PS && trainers && !slices.ContainsFunc(jobs, func(job string) bool { return !slices.Contains(known, job) })
}

// tfConfig is the TF_CONFIG of a parameter server for this project's jobs; "" for other tasks.
func (t serverTask) tfConfig() string {
	if !t.ownJobs() {
		return ""
	}
	jobs := map[string]any{}
	for _, job := range t.cluster.Jobs() {
		if !t.cluster.Sparse() {
			jobs[job] = t.cluster.Addresses(job)
			continue
		}
		tasks := map[int]string{}
		for _, i := range t.cluster.Tasks(job) {
			tasks[i], _ = t.cluster.Address(job, i)
		}
		jobs[job] = tasks
	}
	text, err := json.Marshal(map[string]any{"cluster": jobs, "task": map[string]any{"type": t.job, "index": t.index}, "environment": "cloud"})
	if err != nil {
		return "" // marshalling texts and numbers does not fail
	}
	return string(text)
}

func withoutTFConfig(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "TF_CONFIG=") })
}
