package launcher

import (
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

type tfJob struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       string    `yaml:"kind"`
	Metadata   metadata  `yaml:"metadata"`
	Spec       tfJobSpec `yaml:"spec"`
}

type tfJobSpec struct {
	RunPolicy struct {
		CleanPodPolicy string `yaml:"cleanPodPolicy"`
		BackoffLimit   *int   `yaml:"backoffLimit,omitempty"`
	} `yaml:"runPolicy"`
	Replicas struct {
		Chief     *replicaSpec `yaml:"Chief,omitempty"`
		Worker    *replicaSpec `yaml:"Worker,omitempty"`
		PS        *replicaSpec `yaml:"PS,omitempty"`
		Evaluator *replicaSpec `yaml:"Evaluator,omitempty"`
	} `yaml:"tfReplicaSpecs"`
}

type replicaSpec struct {
	Replicas      int    `yaml:"replicas"`
	RestartPolicy string `yaml:"restartPolicy"`
	Template      struct {
		Spec podSpec `yaml:"spec"`
	} `yaml:"template"`
}

// WriteTFJob writes the manifest of a TFJob (kubeflow.org/v1), whose operator
// gives each task its TF_CONFIG.
func WriteTFJob(w io.Writer, k Kubernetes) error {
	if err := k.validate(func(t replica.Task) string { return fmt.Sprintf("%s-%s", k.Name, t) }); err != nil {
		return err
	}
	if k.CleanPods != "None" && k.CleanPods != "Running" && k.CleanPods != "All" {
		return fmt.Errorf("clean pod policy: got %q, expected None, Running or All", k.CleanPods)
	}
	var j tfJob
	j.APIVersion, j.Kind = "kubeflow.org/v1", "TFJob"
	j.Metadata = metadata{k.Name, k.Namespace}
	j.Spec.RunPolicy.CleanPodPolicy = k.CleanPods
	if k.MaxRestarts >= 0 {
		j.Spec.RunPolicy.BackoffLimit = &k.MaxRestarts
	}
	r := &j.Spec.Replicas
	r.Chief, r.Worker, r.PS, r.Evaluator = k.replicas(replica.Chief, k.Chiefs), k.replicas(replica.Worker, k.Workers), k.replicas(replica.PS, k.PS), k.replicas(replica.Evaluator, k.Evaluators)
	return k.write(w, j)
}

// replicas is the spec of n replicas of a type; nil if n is 0.
func (k Kubernetes) replicas(typ string, n int) *replicaSpec {
	if n == 0 {
		return nil
	}
	r := &replicaSpec{Replicas: n, RestartPolicy: string(k.Restart)}
	if r.RestartPolicy == "" {
		r.RestartPolicy = string(replica.ExitCode)
	}
	r.Template.Spec = k.pod(typ)
	return r
}
