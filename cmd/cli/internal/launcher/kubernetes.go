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
	"time"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
	"go.yaml.in/yaml/v3"
)

// Kubernetes describes a job for Kubernetes, as a TFJob of Kubeflow or as a JobSet.
type Kubernetes struct {
	Job
	Name        string
	Namespace   string
	Image       string
	VolumeClaim string // mounted at ModelDir; empty: none
	ModelDir    string // tasks get it as GOESTIMATOR_MODEL_DIR; empty: the config's
	GPUs        int    // of each task except parameter servers
	MaxRestarts int    // negative: the operator's default
	CleanPods   string // None, Running or All; TFJob only

	TokenSecret string // an existing Secret with the shared token under the key token; empty: the manifest has one
	Token       string // value in the manifest's Secret; empty: random

	// EvaluatorWait is how long a finished leader waits for the evaluator,
	// whose pod is deleted with the others when the leader exits.
	EvaluatorWait time.Duration
}

// tokenKey is the key of a Secret that holds the token.
const tokenKey = "token"

// taskPort is the port that each task listens on.
const taskPort = 2222

type metadata struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

type secret struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   metadata          `yaml:"metadata"`
	Type       string            `yaml:"type"`
	Data       map[string]string `yaml:"stringData"`
}

type podSpec struct {
	Restart    string      `yaml:"restartPolicy,omitempty"`
	Grace      int         `yaml:"terminationGracePeriodSeconds"`
	Containers []container `yaml:"containers"`
	Volumes    []volume    `yaml:"volumes,omitempty"`
}

type container struct {
	Name      string          `yaml:"name"`
	Image     string          `yaml:"image"`
	Command   commandLine     `yaml:"command"`
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
	Secret *keyOf   `yaml:"secretKeyRef,omitempty"`
	Field  *fieldOf `yaml:"fieldRef,omitempty"`
}

type keyOf struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

type fieldOf struct {
	Path string `yaml:"fieldPath"`
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

// Names in Kubernetes: a label, which must begin with a letter for TFJob and JobSet, the name of a namespace, and the name
// of another object, such as a Secret or a claim.
var (
	jobName    = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	namespace  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	objectName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)
)

// maxPodName bounds the name of a pod, which is its host name too.
const maxPodName = 63

// validate checks a job whose pods are named by podName.
func (k Kubernetes) validate(podName func(replica.Task) string) error {
	if err := k.Validate(); err != nil {
		return err
	}
	longest := 0
	for _, t := range k.Tasks() {
		longest = max(longest, len(podName(t)))
	}
	switch room := maxPodName - (longest - len(k.Name)); {
	case !jobName.MatchString(k.Name) || longest > maxPodName:
		return fmt.Errorf("name: got %q, expected a letter, then letters, digits and -, all lower case, at most %d", k.Name, room)
	case k.Image == "":
		return errors.New("no image: expected the container image that holds the command")
	case k.VolumeClaim != "" && !path.IsAbs(k.ModelDir):
		return fmt.Errorf("model dir: got %q, expected the absolute path at which the volume claim %s is mounted", k.ModelDir, k.VolumeClaim)
	case k.Namespace != "" && !namespace.MatchString(k.Namespace):
		return fmt.Errorf("namespace: got %q, expected letters, digits and -, all lower case, at most 63", k.Namespace)
	case k.VolumeClaim != "" && !objectName.MatchString(k.VolumeClaim):
		return fmt.Errorf("volume claim: got %q, expected the name of a PersistentVolumeClaim", k.VolumeClaim)
	case k.TokenSecret != "" && !objectName.MatchString(k.TokenSecret):
		return fmt.Errorf("token secret: got %q, expected the name of a Secret", k.TokenSecret)
	case k.GPUs < 0:
		return fmt.Errorf("gpus: got %d, expected 0 or more", k.GPUs)
	case k.EvaluatorWait < 0:
		return fmt.Errorf("wait for the evaluator: got %v, expected 0 or more", k.EvaluatorWait)
	}
	return nil
}

// write writes the manifests of objects, after the manifest of the Secret
// that the job's tasks share.
func (k Kubernetes) write(w io.Writer, objects ...any) error {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if k.TokenSecret == "" {
		b.WriteString("# The tasks share the secret below, which was made for this manifest: apply it once for each job.\n")
		s := secret{APIVersion: "v1", Kind: "Secret", Metadata: metadata{k.secret(), k.Namespace}, Type: "Opaque", Data: map[string]string{tokenKey: k.Token}}
		if k.Token == "" {
			s.Data[tokenKey] = random(32)
		}
		objects = append([]any{s}, objects...)
	}
	for _, o := range objects {
		if err := e.Encode(o); err != nil {
			return fmt.Errorf("write the manifest: %w", err)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// secret is the name of the Secret with the token.
func (k Kubernetes) secret() string {
	if k.TokenSecret != "" {
		return k.TokenSecret
	}
	return k.Name + "-token"
}

// pod is the pod for the tasks of a type; env is added to the common environment variables.
func (k Kubernetes) pod(typ string, env ...envVar) podSpec {
	c := container{
		Name: "tensorflow", Image: k.Image, Command: k.command(), // TFJob requires this name
		Env:   append(k.env(typ), env...),
		Ports: []containerPort{{"tfjob-port", taskPort}},
	}
	if r := k.resources(typ); len(r) > 0 {
		c.Resources = &resources{r, r}
	}
	spec := podSpec{Grace: int(math.Ceil(k.Grace.Seconds()))}
	if k.VolumeClaim != "" {
		c.Mounts = []mount{{"model-dir", k.ModelDir}}
		v := volume{Name: "model-dir"}
		v.Claim.Name = k.VolumeClaim
		spec.Volumes = []volume{v}
	}
	spec.Containers = []container{c}
	return spec
}

// command is the job's command, escaped for Kubernetes.
func (k Kubernetes) command() []string {
	out := make([]string, len(k.Command))
	for i, word := range k.Command {
		out[i] = literal(word)
	}
	return out
}

// env are the environment variables of a type's tasks.
func (k Kubernetes) env(typ string) []envVar {
	token := envVar{Name: TokenEnv, From: &envSource{Secret: &keyOf{Name: k.secret(), Key: tokenKey}}}
	out := []envVar{token, {Name: JobIDEnv, Value: path.Join(k.Namespace, k.Name)}}
	if k.ModelDir != "" {
		out = append(out, envVar{Name: runconfig.EnvName("model_dir"), Value: literal(k.ModelDir)})
	}
	if k.Evaluators > 0 && k.EvaluatorWait > 0 && typ == k.Leader().Type {
		out = append(out, envVar{Name: runconfig.EnvName("run.evaluator_wait_secs"), Value: fmt.Sprint(k.EvaluatorWait.Seconds())})
	}
	return out
}

// resources are the requests and limits of each task of a type.
func (k Kubernetes) resources(typ string) map[string]string {
	out := map[string]string{}
	if k.CoresPerTask > 0 {
		out["cpu"] = fmt.Sprint(k.CoresPerTask)
	}
	if k.GPUs > 0 && typ != replica.PS {
		out["nvidia.com/gpu"] = fmt.Sprint(k.GPUs)
	}
	return out
}

// literal keeps Kubernetes from expanding $(NAME) and $$ in commands and in the values of variables.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }
