package accept

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	"go.yaml.in/yaml/v3"
)

// The chart, and the values files: VALUES.golden.yaml beside VALUES.yaml holds the expected output. If helm is installed the test
// compares with it; to write it again, run helm as in render.
var (
	chart  = filepath.Join("deploy", "helm", "goestimator")
	values = []string{"volume", "buckets", "config"}
)

func chartFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{testkit.Root(), "deploy", "helm"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pod is the part of a Deployment that the tests check.
type pod struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []struct {
					Image           string
					Args            []string
					SecurityContext struct {
						ReadOnly bool  `yaml:"readOnlyRootFilesystem"`
						More     *bool `yaml:"allowPrivilegeEscalation"`
					} `yaml:"securityContext"`
					VolumeMounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
				}
				Volumes []struct{ Name string }
			}
		}
	}
}

// deployed returns the Deployment among manifests.
func deployed(t *testing.T, manifests string) (found pod) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(manifests)); ; {
		var p pod
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Kind == "Deployment" {
			found = p
		}
	}
	if len(found.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("no Deployment of one container in\n%s", manifests)
	}
	return found
}

// TestHelmManifests checks the chart's promises: flags that serve knows, no registry, a user without rights, a read-only file system.
func TestHelmManifests(t *testing.T) {
	program, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(program, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := func(flag string) bool { return bytes.Contains(help, []byte("--"+flag+" ")) }
	used := regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(chartFile(t, "goestimator", "templates", "_helpers.tpl"), -1)
	if len(used) < 15 {
		t.Errorf("%d flags in the templates", len(used))
	}
	for _, f := range used {
		if !known(f[1]) {
			t.Errorf("the chart uses --%s, which serve does not know", f[1])
		}
	}
	for _, name := range values {
		p := deployed(t, chartFile(t, "testdata", name+".golden.yaml")).Spec.Template.Spec
		c := p.Containers[0]
		if registry.MatchString(c.Image) || !p.SecurityContext.RunAsNonRoot || !c.SecurityContext.ReadOnly || c.SecurityContext.More == nil || *c.SecurityContext.More {
			t.Errorf("%s: image %s, security %+v and %+v", name, c.Image, p.SecurityContext, c.SecurityContext)
		}
		if len(c.Args) == 0 || c.Args[0] != "serve" {
			t.Errorf("%s: arguments %q", name, c.Args)
		}
		for _, a := range c.Args[1:] {
			flag, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
			if !known(flag) {
				t.Errorf("%s: serve does not know %s", name, a)
			}
		}
		if len(c.VolumeMounts) != len(p.Volumes) {
			t.Errorf("%s: %d volumes are mounted %d times", name, len(p.Volumes), len(c.VolumeMounts))
		}
	}
}

// TestHelmArguments starts a server with the chart's arguments, but with folders and ports of the test.
func TestHelmArguments(t *testing.T) {
	program, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{}
	for _, a := range deployed(t, chartFile(t, "testdata", "volume.golden.yaml")).Spec.Template.Spec.Containers[0].Args {
		name, dir, _ := strings.Cut(a, "=/")
		switch {
		case dir != "":
			a = name + "=" + t.TempDir()
		case strings.HasPrefix(a, "--port="), strings.HasPrefix(a, "--rest-port="):
			a, _, _ = strings.Cut(a, "=")
			a += "=0"
		}
		args = append(args, a)
	}
	cmd := exec.Command(program, append(args, "--json")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	var at struct{ GRPC, REST string }
	if err := json.Unmarshal(line, &at); err != nil || at.GRPC == "" || at.REST == "" {
		t.Errorf("got %q, %v, %v", line, err, readErr)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve %q: %v\n%s", args, err, &stderr)
	}
}

// render returns the manifests that helm makes from the chart, or its error message.
func render(t *testing.T, helm string, args ...string) (manifests, complaint string) {
	t.Helper()
	cmd := exec.Command(helm, append([]string{"template", "iris", filepath.Join(testkit.Root(), chart), "--namespace", "models", "--kube-version", "1.31.0"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() == 0 {
		t.Fatal(err)
	}
	return string(out), stderr.String()
}

// TestHelmTemplate compares helm's output with the recorded one, and checks that helm refuses invalid values.
func TestHelmTemplate(t *testing.T) {
	helm, err := exec.LookPath("helm")
	if err != nil {
		t.Skip("skipped: helm is not installed")
	}
	for _, name := range values {
		file := filepath.Join(testkit.Root(), "deploy", "helm", "testdata", name)
		if out, err := exec.Command(helm, "lint", "--strict", filepath.Join(testkit.Root(), chart), "-f", file+".yaml").CombinedOutput(); err != nil {
			t.Errorf("lint: %v\n%s", err, out)
		}
		if got, complaint := render(t, helm, "-f", file+".yaml"); got != chartFile(t, "testdata", name+".golden.yaml") {
			t.Errorf("%s.golden.yaml is not what helm makes of the chart: %s\n%s", name, complaint, got)
		}
	}
	for args, want := range map[string]string{
		"":                               "expected one of models, modelRoot and modelConfig",
		"modelRoot=/m,modelConfig=x":     "expected one of models, modelRoot and modelConfig",
		"modelRoot=/m,tls.clientCA=true": "tls.clientCA without tls.secretName",
		"modelRoot=/m,replica=2":         "'replica' not allowed",
		"models[0].name=iris":            "path",
		"modelRoot=/m,drainSeconds=0":    "drainSeconds",
		"models[0].name=a,models[0].path=/m/a,models[0].traffic=all": "traffic",
	} {
		if got, complaint := render(t, helm, "--set", args); got != "" || !strings.Contains(complaint, want) {
			t.Errorf("%s: expected %q, got %q", args, want, complaint)
		}
	}
	old, complaint := render(t, helm, "--set", "modelRoot=/m", "--kube-version", "1.28.0")
	if strings.Contains(old, "preStop") || old == "" {
		t.Errorf("a Kubernetes without sleep in hooks: %s %s", complaint, old)
	}
}
