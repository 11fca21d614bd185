package launcher

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

type jobSet struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Metadata   metadata   `yaml:"metadata"`
	Spec       jobSetSpec `yaml:"spec"`
}

type jobSetSpec struct {
	Network struct {
		Hostnames bool `yaml:"enableDNSHostnames"`
	} `yaml:"network"`
	Success struct {
		Operator string   `yaml:"operator"`
		Targets  []string `yaml:"targetReplicatedJobs"`
	} `yaml:"successPolicy"`
	Jobs []replicatedJob `yaml:"replicatedJobs"`
}

type replicatedJob struct {
	Name     string `yaml:"name"`
	Replicas int    `yaml:"replicas"`
	Template struct {
		Spec batchJob `yaml:"spec"`
	} `yaml:"template"`
}

type batchJob struct {
	Parallelism    int               `yaml:"parallelism"`
	Completions    int               `yaml:"completions"`
	CompletionMode string            `yaml:"completionMode"`
	BackoffLimit   int               `yaml:"backoffLimit"`
	Failure        *podFailurePolicy `yaml:"podFailurePolicy,omitempty"`
	Template       struct {
		Spec podSpec `yaml:"spec"`
	} `yaml:"template"`
}

type podFailurePolicy struct {
	Rules []podFailureRule `yaml:"rules"`
}

type podFailureRule struct {
	Action     string         `yaml:"action"`
	Conditions []podCondition `yaml:"onPodConditions,omitempty"`
	Codes      *exitCodes     `yaml:"onExitCodes,omitempty"`
}

type podCondition struct {
	Type   string `yaml:"type"`
	Status string `yaml:"status"`
}

type exitCodes struct {
	Operator string `yaml:"operator"`
	Values   []int  `yaml:"values,flow"`
}

// taskIndex is the variable with the index of a task. Kubernetes substitutes it in TF_CONFIG.
const taskIndex = "TASK_INDEX"

// defaultJobRestarts is the default number of restarts for each task of a JobSet.
const defaultJobRestarts = 10

// WriteJobSet writes the manifest of a JobSet (jobset.x-k8s.io/v1alpha2): an
// indexed Job for each type of task, whose pods find each other by JobSet's host
// names. The JobSet succeeds when the chief does or, without a chief, when all workers do;
// pods that still run are then deleted.
func WriteJobSet(w io.Writer, k Kubernetes) error {
	spec, err := k.jobSet()
	if err != nil {
		return err
	}
	return k.write(w, jobSet{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Metadata: metadata{k.Name, k.Namespace}, Spec: spec})
}

// jobSet is the job as a JobSet.
func (k Kubernetes) jobSet() (spec jobSetSpec, err error) {
	// The controller appends a dash and five letters to the names of pods.
	if err := k.validate(func(t replica.Task) string { return k.hostname(t) + "-abcde" }); err != nil {
		return spec, err
	}
	if k.Restart == replica.Always {
		return spec, errors.New("restart policy Always: on JobSet, expected never, on-failure or exit-code")
	}
	spec.Network.Hostnames = true
	spec.Success.Operator, spec.Success.Targets = "All", []string{k.Leader().Type}
	for _, c := range k.counts() {
		if c.n > 0 {
			r := replicatedJob{Name: c.job, Replicas: 1}
			r.Template.Spec = k.batchJob(c)
			spec.Jobs = append(spec.Jobs, r)
		}
	}
	return spec, nil
}

// hostname is the host name of a task's pod.
func (k Kubernetes) hostname(t replica.Task) string {
	return fmt.Sprintf("%s-%s-0-%d", k.Name, t.Type, t.Index)
}

// batchJob is the Job for all tasks of a type.
func (k Kubernetes) batchJob(c count) batchJob {
	j := batchJob{Parallelism: c.n, Completions: c.n, CompletionMode: "Indexed"}
	if j.BackoffLimit = defaultJobRestarts * c.n; k.MaxRestarts >= 0 {
		j.BackoffLimit = k.MaxRestarts * c.n
	}
	j.Template.Spec = k.pod(c.job, k.tfConfig(c)...)
	j.Template.Spec.Restart = string(replica.Never)
	switch k.Restart {
	case replica.Never:
		j.BackoffLimit = 0
	case replica.OnFailure:
		j.Template.Spec.Restart = string(replica.OnFailure)
	default:
		j.Failure = exitCodePolicy()
	}
	return j
}

// exitCodePolicy fails a Job at once for exit codes that a restart would not
// change, and does not count pods that were lost with their nodes.
func exitCodePolicy() *podFailurePolicy {
	final := &exitCodes{Operator: "In"}
	for code := 1; !replica.Retryable(code); code++ {
		final.Values = append(final.Values, code)
	}
	return &podFailurePolicy{Rules: []podFailureRule{
		{Action: "Ignore", Conditions: []podCondition{{"DisruptionTarget", "True"}}},
		{Action: "FailJob", Codes: final},
	}}
}

// tfConfig are the variables that give the tasks of a type their place in the
// cluster; none for a job with one task.
func (k Kubernetes) tfConfig(c count) []envVar {
	cluster := map[string][]string{}
	for _, t := range k.Tasks() {
		cluster[t.Type] = append(cluster[t.Type], fmt.Sprintf("%s.%s:%d", k.hostname(t), k.Name, taskPort))
	}
	text := replica.TFConfig(cluster, replica.Task{Type: c.job})
	switch {
	case text == "":
		return nil
	case c.n == 1:
		return []envVar{{Name: "TF_CONFIG", Value: text}}
	}
	index := envVar{Name: taskIndex, From: &envSource{Field: &fieldOf{"metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}
	return []envVar{index, {Name: "TF_CONFIG", Value: strings.Replace(text, `"index":0`, `"index":$(`+taskIndex+`)`, 1)}}
}
