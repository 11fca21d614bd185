package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// documents parses a manifest.
func documents(t *rapid.T, text []byte) (out []map[string]any) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		out = append(out, doc)
	}
}

// schema is an API's fields: by the path of a field its type, whether it is required, and its values.
type schema map[string][]string

func readSchema(t *testing.T, path string) schema {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := schema{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			out[f[0]] = f[1:]
		}
	}
	return out
}

// check returns an error if the API would reject the fields of an object, or of an object in a list.
func (s schema) check(path string, v any) error {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if err := s.check(path+"[]", x); err != nil {
				return err
			}
		}
	case map[string]any:
		fields := s.fieldsOf(path)
		for name, f := range fields {
			if slices.Contains(f, "required") && v[name] == nil {
				return fmt.Errorf("%s: the field %s must be there", path, name)
			}
		}
		for name, x := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			switch f, ok := fields[name]; {
			case ok && !fits(f, x):
				return fmt.Errorf("%s: got %v, expected %v", at, x, f)
			case !ok && len(s.fieldsOf(path+"{}")) > 0: // a map with arbitrary keys
				at = path + "{}"
			case !ok && len(fields) > 0:
				return fmt.Errorf("%s: there is no such field", at)
			}
			if err := s.check(at, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldsOf are the fields of an object by name; none if unknown.
func (s schema) fieldsOf(path string) map[string][]string {
	out := map[string][]string{}
	for p, f := range s {
		name, ok := strings.CutPrefix(p, path+".")
		if path == "" {
			name, ok = p, true
		}
		if ok && !strings.Contains(name, ".") {
			out[name] = f
		}
	}
	return out
}

// fits reports whether a value has a field's type and is one of its allowed values.
func fits(field []string, v any) bool {
	kind := ""
	switch v.(type) {
	case map[string]any:
		kind = "object"
	case []any:
		kind = "array"
	case string:
		kind = "string"
	case int:
		kind = "integer"
	case bool:
		kind = "boolean"
	}
	values := field[len(field)-1]
	return kind == field[0] && (!strings.Contains(values, "|") || slices.Contains(strings.Split(values, "|"), fmt.Sprint(v)))
}

// The schema rejects what the API would reject.
func TestSchema(t *testing.T) {
	s := schema{"kind": {"string"}, "spec": {"object", "required"}, "spec.n": {"integer", "required"}, "spec.on": {"boolean"}, "spec.op": {"string", "required", "All|Any"},
		"spec.list": {"array"}, "spec.list[].a": {"string"}, "spec.map": {"object"}, "spec.map{}.b": {"integer"}}
	for text, want := range map[string]string{
		"{kind: X, spec: {n: 1, op: Any, on: true, list: [{a: x}], map: {k: {b: 1}}, labels: {}}}": "spec.labels: there is no such field",
		"{kind: X, spec: {n: 1, op: Any, on: true, list: [{a: x}], map: {k: {b: 1}}}}":             "<nil>",
		"{kind: X}":                                 "the field spec must be there",
		"{spec: {op: All}}":                         "the field n must be there",
		"{spec: {n: 1}}":                            "the field op must be there",
		"{spec: {n: '1', op: All}}":                 "spec.n: got 1",
		"{spec: {n: 1, op: None}}":                  "spec.op: got None",
		"{spec: {n: 1, op: All, on: x}}":            "spec.on: got x",
		"{spec: {n: 1, op: All, list: {}}}":         "spec.list: got map[]",
		"{spec: {n: 1, op: All, list: [{b: x}]}}":   "spec.list[].b: there is no such field",
		"{spec: {n: 1, op: All, list: [{a: 1}]}}":   "spec.list[].a: got 1",
		"{spec: {n: 1, op: All, map: {x: {b: y}}}}": "spec.map{}.b: got y",
		"{spec: {n: 1, op: All, map: {x: {c: 1}}}}": "spec.map{}.c: there is no such field",
	} {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.check("", doc)); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, expected %s", text, got, want)
		}
	}
}

// drawJob is any job that a manifest can describe.
func drawJob(t *rapid.T) Kubernetes {
	k := Kubernetes{
		Job: Job{Chiefs: rapid.IntRange(0, 1).Draw(t, "chiefs"), Workers: rapid.IntRange(0, 12).Draw(t, "workers"), PS: rapid.IntRange(0, 3).Draw(t, "ps"),
			Evaluators: rapid.IntRange(0, 1).Draw(t, "evaluators"), CoresPerTask: rapid.IntRange(0, 2).Draw(t, "cores"),
			Command: rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching("[ \t\na]{1,4}"), rapid.StringMatching(`([$()a]|TASK_INDEX|\$\(TASK_INDEX\)){1,6}`)), 1, 4).Draw(t, "command"),
			Restart: rapid.SampledFrom([]replica.RestartPolicy{replica.Never, replica.ExitCode, replica.OnFailure}).Draw(t, "restart")},
		Name: rapid.StringMatching(`[a-z][-a-z0-9]{0,8}[a-z0-9]`).Draw(t, "name"), Image: "image", Token: rapid.StringMatching(`[0-9e.]{1,9}`).Draw(t, "token"),
		GPUs: rapid.IntRange(0, 2).Draw(t, "gpus"), MaxRestarts: rapid.IntRange(-1, 3).Draw(t, "restarts"), CleanPods: "Running", EvaluatorWait: 90e9,
	}
	if k.Chiefs+k.Workers == 0 {
		k.Workers = 1
	}
	if rapid.Bool().Draw(t, "volume") {
		k.Namespace, k.VolumeClaim, k.ModelDir = "ns", "claim", rapid.SampledFrom([]string{"/models", "/$$x", "/$(TASK_INDEX)"}).Draw(t, "model dir")
	}
	if rapid.Bool().Draw(t, "secret") {
		k.TokenSecret = "mine"
	}
	return k
}

// Every manifest parses, has only fields of the API with the types that it
// expects, and describes each task as the job does.
func TestManifests(t *testing.T) {
	runtimeFields, jobSetFields := readSchema(t, "testdata/trainingruntime_fields.txt"), readSchema(t, "testdata/jobset_fields.txt")
	for name, write := range map[string]func(io.Writer, Kubernetes) error{"tfjob": WriteTFJob, "jobset": WriteJobSet, "trainjob": WriteTrainJob} {
		api := readSchema(t, "testdata/"+name+"_fields.txt")
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := drawJob(t)
				var b bytes.Buffer
				if err := write(&b, k); err != nil {
					t.Fatal(err)
				}
				docs := documents(t, b.Bytes())
				if err := api.check("", docs[len(docs)-1]); err != nil {
					t.Fatalf("%v in\n%s", err, b.String())
				}
				if name == "trainjob" {
					docs = jobSetOf(t, runtimeFields, jobSetFields, docs)
				}
				checkSecret(t, k, docs[:len(docs)-1])
				job := docs[len(docs)-1]
				pods := podsOf(job)
				if len(pods) != len(k.Tasks()) {
					t.Fatalf("%d pods of %d tasks", len(pods), len(k.Tasks()))
				}
				for _, task := range k.Tasks() {
					checkPod(t, k, task, pods[task])
				}
			})
		})
	}
}

// jobSetOf acts as Kubeflow's trainer: it makes the JobSet of a TrainJob from the TrainingRuntime that the TrainJob names.
func jobSetOf(t *rapid.T, runtimeFields, jobSetFields schema, docs []map[string]any) []map[string]any {
	rest, runtime, job := docs[:len(docs)-2], docs[len(docs)-2], docs[len(docs)-1]
	if err := runtimeFields.check("", runtime); err != nil {
		t.Fatal(err)
	}
	ref, name := job["spec"].(map[string]any)["runtimeRef"].(map[string]any), runtime["metadata"].(map[string]any)["name"]
	if ref["kind"] != runtime["kind"] || ref["name"] != name || ref["apiGroup"] != "trainer.kubeflow.org" || runtime["apiVersion"] != "trainer.kubeflow.org/v1alpha1" {
		t.Fatalf("the TrainJob names %v, the TrainingRuntime is %v", ref, runtime["metadata"])
	}
	set := map[string]any{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": job["metadata"]}
	set["spec"] = runtime["spec"].(map[string]any)["template"].(map[string]any)["spec"]
	if err := jobSetFields.check("", set); err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(rest), set)
}

// checkSecret: the manifest has the Secret that its tasks name, with the token as text, unless the Secret exists already.
func checkSecret(t *rapid.T, k Kubernetes, docs []map[string]any) {
	if k.TokenSecret != "" {
		if len(docs) > 0 {
			t.Fatalf("a Secret beside %s: %v", k.TokenSecret, docs)
		}
		return
	}
	meta := docs[0]["metadata"].(map[string]any)
	if len(docs) != 1 || docs[0]["kind"] != "Secret" || docs[0]["apiVersion"] != "v1" || meta["name"] != k.Name+"-token" || (meta["namespace"] == "ns") != (k.Namespace != "") ||
		docs[0]["stringData"].(map[string]any)["token"] != k.Token {
		t.Fatalf("the Secret is %v", docs)
	}
}

// pod is a task as the kubelet starts it: container, environment and host name.
type pod struct {
	container map[string]any
	env       map[string]string
	secret    map[string]any
	host      string
}

// podsOf acts as the operators: it makes the pods of a job.
func podsOf(job map[string]any) map[replica.Task]pod {
	out := map[replica.Task]pod{}
	spec, name := job["spec"].(map[string]any), job["metadata"].(map[string]any)["name"].(string)
	if specs, ok := spec["tfReplicaSpecs"].(map[string]any); ok {
		for typ, r := range specs {
			r := r.(map[string]any)
			for i := range r["replicas"].(int) {
				out[replica.Task{Type: strings.ToLower(typ), Index: i}] = newPod(r, i, "")
			}
		}
		return out
	}
	for _, r := range spec["replicatedJobs"].([]any) {
		r := r.(map[string]any)
		typ, batch := r["name"].(string), r["template"].(map[string]any)["spec"].(map[string]any)
		for i := range batch["completions"].(int) {
			out[replica.Task{Type: typ, Index: i}] = newPod(batch, i, fmt.Sprintf("%s-%s-0-%d.%s", name, typ, i, name))
		}
	}
	return out
}

// newPod makes pod i of a template; $(NAME) in a value refers to earlier variables.
func newPod(of map[string]any, i int, host string) pod {
	spec := of["template"].(map[string]any)["spec"].(map[string]any)
	p := pod{container: spec["containers"].([]any)[0].(map[string]any), env: map[string]string{}, host: host}
	for _, e := range p.container["env"].([]any) {
		e := e.(map[string]any)
		value, _ := e["value"].(string)
		if from, ok := e["valueFrom"].(map[string]any); ok {
			if key, ok := from["secretKeyRef"].(map[string]any); ok {
				p.secret = key
				continue
			}
			value = fmt.Sprint(i)
		}
		p.env[e["name"].(string)] = expanded(value, p.env)
	}
	return p
}

// expanded expands a text like Kubernetes: $(NAME) is the value of a variable that exists, $$ is $.
func expanded(text string, env map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		name, _, closed := strings.Cut(strings.TrimPrefix(rest, "$("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(rest, "$$"):
			out.WriteByte('$')
			i++
		case strings.HasPrefix(rest, "$(") && closed && known:
			out.WriteString(value)
			i += len("$()") + len(name) - 1
		default:
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// checkPod: a task runs the command at its place in the cluster, with the token,
// with GPUs if it computes, and a leader waits for the evaluator.
func checkPod(t *rapid.T, k Kubernetes, task replica.Task, p pod) {
	if p.secret["name"] != k.secret() || p.secret["key"] != "token" || p.container["image"] != k.Image {
		t.Fatalf("%v: %v", task, p)
	}
	for i, word := range p.container["command"].([]any) {
		if got := expanded(word.(string), p.env); got != k.Command[i] {
			t.Fatalf("%v: word %d of the command is %q, expected %q", task, i, got, k.Command[i])
		}
	}
	if got := p.env["GOESTIMATOR_MODEL_DIR"]; got != k.ModelDir {
		t.Fatalf("%v: model_dir %q, expected %q", task, got, k.ModelDir)
	}
	limits := map[string]any{}
	if r, ok := p.container["resources"].(map[string]any); ok {
		limits = r["limits"].(map[string]any)
	}
	if gpus, want := limits["nvidia.com/gpu"], k.GPUs > 0 && task.Type != replica.PS; (gpus == fmt.Sprint(k.GPUs)) != want {
		t.Fatalf("%v: GPUs %v of %d", task, gpus, k.GPUs)
	}
	if wait, want := p.env["GOESTIMATOR_RUN_EVALUATOR_WAIT_SECS"], k.Evaluators > 0 && task.Type == k.Leader().Type; (wait == "90") != want || !want && wait != "" {
		t.Fatalf("%v: waits %q s for the evaluator", task, wait)
	}
	if p.host == "" || len(k.Tasks()) == 1 {
		if p.env["TF_CONFIG"] != "" {
			t.Fatalf("%v: TF_CONFIG %s", task, p.env["TF_CONFIG"])
		}
		return
	}
	rc, err := runconfig.FromTFConfig(p.env["TF_CONFIG"])
	if err != nil || rc.TaskType() != task.Type || rc.TaskID() != task.Index {
		t.Fatalf("%v: %v, TF_CONFIG %s", task, err, p.env["TF_CONFIG"])
	}
	if a, _ := rc.ClusterSpec().Address(task.Type, task.Index); task.Type != replica.Evaluator && a != p.host+":2222" {
		t.Fatalf("%v: its address is %s, that of its pod %s", task, a, p.host)
	}
}
