package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strings"

	"github.com/goestimator/goestimator/internal/replica"
	"go.yaml.in/yaml/v3"
)

// Kubernetes is how a job is handed to Kubeflow's TFJob.
type Kubernetes struct {
	Job
	Name        string
	Namespace   string
	Image       string
	VolumeClaim string // mounted at ModelDir; empty: none
	ModelDir    string // tasks get it as GOESTIMATOR_MODEL_DIR; empty: the config's
	CleanPods   string // None, Running or All
	MaxRestarts int    // backoffLimit; negative: none
}

// The port that each replica listens on, and its name.
const (
	tfjobPort     = 2222
	tfjobPortName = "tfjob-port"
)

type tfJob struct {
	APIVersion string    `yaml:"apiVersion"`
	Kind       string    `yaml:"kind"`
	Metadata   metadata  `yaml:"metadata"`
	Spec       tfJobSpec `yaml:"spec"`
}

type metadata struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
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

type podSpec struct {
	Grace      int         `yaml:"terminationGracePeriodSeconds"`
	Containers []container `yaml:"containers"`
	Volumes    []volume    `yaml:"volumes,omitempty"`
}

type container struct {
	Name      string          `yaml:"name"`
	Image     string          `yaml:"image"`
	Command   []string        `yaml:"command"`
	Env       []envVar        `yaml:"env"`
	Ports     []containerPort `yaml:"ports"`
	Resources *resources      `yaml:"resources,omitempty"`
	Mounts    []mount         `yaml:"volumeMounts,omitempty"`
}

type envVar struct {
	Name  string     `yaml:"name"`
	Value string     `yaml:"value,omitempty"`
	From  *envSource `yaml:"valueFrom,omitempty"`
}

type envSource struct {
	Secret struct {
		Name string `yaml:"name"`
		Key  string `yaml:"key"`
	} `yaml:"secretKeyRef"`
}

type containerPort struct {
	Name string `yaml:"name"`
	Port int    `yaml:"containerPort"`
}

type resources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

type mount struct {
	Name string `yaml:"name"`
	Path string `yaml:"mountPath"`
}

type volume struct {
	Name  string `yaml:"name"`
	Claim struct {
		Name string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
}

// jobName is what a TFJob may be called: a DNS label that begins with a letter.
var jobName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

func (k Kubernetes) validate() error {
	if err := k.Validate(); err != nil {
		return err
	}
	longest := len(k.Name) + len("-evaluator-") + len(fmt.Sprint(maxTasks))
	switch {
	case !jobName.MatchString(k.Name) || longest > 63:
		return fmt.Errorf("name: got %q, expected a letter, then letters, digits and -, all lower case, at most 48", k.Name)
	case k.Image == "":
		return errors.New("no image: expected the container image that holds the command")
	case k.VolumeClaim != "" && !path.IsAbs(k.ModelDir):
		return fmt.Errorf("model dir: got %q, expected the absolute path at which the volume claim %s is mounted", k.ModelDir, k.VolumeClaim)
	case k.CleanPods != "None" && k.CleanPods != "Running" && k.CleanPods != "All":
		return fmt.Errorf("clean pod policy: got %q, expected None, Running or All", k.CleanPods)
	}
	return nil
}

// WriteTFJob writes the manifest of a TFJob (kubeflow.org/v1). The tasks share a
// secret, whose making is told in its first lines.
func WriteTFJob(w io.Writer, k Kubernetes) error {
	if err := k.validate(); err != nil {
		return err
	}
	var j tfJob
	j.APIVersion, j.Kind = "kubeflow.org/v1", "TFJob"
	j.Metadata = metadata{k.Name, k.Namespace}
	j.Spec.RunPolicy.CleanPodPolicy = k.CleanPods
	if k.MaxRestarts >= 0 {
		j.Spec.RunPolicy.BackoffLimit = &k.MaxRestarts
	}
	r := &j.Spec.Replicas
	r.Chief, r.Worker, r.PS, r.Evaluator = k.replicas(k.Chiefs), k.replicas(k.Workers), k.replicas(k.PS), k.replicas(k.Evaluators)
	var b bytes.Buffer
	namespace := ""
	if k.Namespace != "" {
		namespace = " --namespace " + k.Namespace
	}
	fmt.Fprintf(&b, "# The tasks share a secret; make it once:\n#   kubectl create secret generic %s%s --from-literal=token=\"$(openssl rand -hex 32)\"\n", k.secret(), namespace)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(j); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (k Kubernetes) secret() string { return k.Name + "-token" }

// replicas is the spec of n replicas; none where n is 0.
func (k Kubernetes) replicas(n int) *replicaSpec {
	if n == 0 {
		return nil
	}
	r := &replicaSpec{Replicas: n, RestartPolicy: string(k.Restart)}
	if r.RestartPolicy == "" {
		r.RestartPolicy = string(replica.ExitCode)
	}
	token := envVar{Name: TokenEnv, From: &envSource{}}
	token.From.Secret.Name, token.From.Secret.Key = k.secret(), "token"
	c := container{
		Name: "tensorflow", Image: k.Image, Command: literal(k.Command),
		Env:   []envVar{token},
		Ports: []containerPort{{tfjobPortName, tfjobPort}},
	}
	if k.ModelDir != "" {
		c.Env = append(c.Env, envVar{Name: "GOESTIMATOR_MODEL_DIR", Value: k.ModelDir})
	}
	if k.CoresPerTask > 0 {
		cpu := map[string]string{"cpu": fmt.Sprint(k.CoresPerTask)}
		c.Resources = &resources{cpu, cpu}
	}
	spec := &r.Template.Spec
	spec.Grace = int(math.Ceil(k.Grace.Seconds()))
	if k.VolumeClaim != "" {
		c.Mounts = []mount{{"model-dir", k.ModelDir}}
		v := volume{Name: "model-dir"}
		v.Claim.Name = k.VolumeClaim
		spec.Volumes = []volume{v}
	}
	spec.Containers = []container{c}
	return r
}

// literal keeps Kubernetes from replacing $(NAME) in the words of a command.
func literal(command []string) []string {
	var out []string
	for _, word := range command {
		out = append(out, strings.ReplaceAll(word, "$(", "$$("))
	}
	return out
}
