//go:build linux

package accept

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/runconfig"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// registry matches the registry's host in an image name. Without a registry there is no dot before the first slash.
var registry = regexp.MustCompile(`^[^/]*[.:][^/]*/`)

// TestDockerfile checks the promised properties of the images.
func TestDockerfile(t *testing.T) {
	stages := dockerfile(t)
	for _, s := range stages {
		if registry.MatchString(s.from) {
			t.Errorf("FROM %s names a registry", s.from)
		}
	}
	last := stages[len(stages)-1]
	if last.from != "scratch" || len(last.of("RUN")) > 0 {
		t.Errorf("the last stage is from %s, expected scratch", last.from)
	}
	for _, s := range []stage{last, named(t, stages, "gpu")} {
		if user := strings.Join(s.of("USER"), ""); user != "65532:65532" {
			t.Errorf("%s: USER %s, expected the number of a user without rights", s.from, user)
		}
		if e := s.exec(t, "ENTRYPOINT"); len(e) != 1 || e[0] != "/usr/local/bin/entrypoint" {
			t.Errorf("%s: ENTRYPOINT %v", s.from, e)
		}
	}
	for name, want := range map[string]bool{"static": true, "dynamic": false} {
		for _, line := range named(t, stages, name).of("RUN") {
			if strings.HasSuffix(line, "./cmd/goestimator") && strings.Contains(line, "-tags static") != want {
				t.Errorf("%s: RUN %s", name, line)
			}
		}
	}
}

// container is the image's file system in a folder, where its entrypoint runs as the image's user.
type container struct {
	t    *testing.T
	root string
	env  []string
	exec []string
}

// newContainer assembles the last stage of the Dockerfile.
func newContainer(t *testing.T) *container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can change the root folder")
	}
	stages := dockerfile(t)
	last := stages[len(stages)-1]
	c := &container{t: t, root: t.TempDir(), exec: last.exec(t, "ENTRYPOINT")}
	assemble(t, stages, last, c.root)
	for dir := c.root; dir != "/"; dir = filepath.Dir(dir) { // also of the parent folders
		if info, err := os.Stat(dir); err != nil || info.Mode()&1 == 0 && os.Chmod(dir, info.Mode()|0o111) != nil {
			t.Fatal(dir, err)
		}
	}
	c.env = strings.Fields(strings.Join(last.of("ENV"), " "))
	return c
}

// command returns the entrypoint with arguments.
func (c *container) command(args ...string) *exec.Cmd {
	all := append(c.exec, args...)
	return &exec.Cmd{Path: all[0], Args: all, Env: c.env, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
		Chroot: c.root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Pdeathsig: syscall.SIGKILL,
	}}
}

// run runs a container to its end.
func (c *container) run(args ...string) string {
	c.t.Helper()
	out, err := c.command(args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// line waits for a line that contains a text.
func (s *sink) line(t *testing.T, text string) string {
	t.Helper()
	for limit := time.After(patience); ; {
		log, changed := s.now()
		for line := range strings.Lines(log) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%q was not written within %v: %s", text, patience, log)
		}
	}
}

// TestContainer builds the image's binaries with the Dockerfile's flags. It trains, exports and serves as the image's user
// in a root folder with only the image's contents. Served requests are answered, admin calls are refused.
func TestContainer(t *testing.T) {
	long(t)
	c := newContainer(t)
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "configs/glyphs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.root, "glyphs.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := c.run("version"); !strings.Contains(got, "goestimator") {
		t.Errorf("version: %s", got)
	}
	config := []string{"--config", "/glyphs.yaml", "--set", "model_dir=/models/run"}
	c.run(append([]string{"train", "--set", "train.max_steps=20"}, config...)...)
	c.run(append([]string{"export", "--to", "/models/export/glyphs"}, config...)...)

	s := &server{t: t, log: newSink()}
	cmd := c.command("serve", "--json", "--port", "0", "--rest-port", "0", "--model-root", "/models/export")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server's last lines:\n%s", tail(s.log.String()))
		}
	})
	addresses := s.log.line(t, `{"grpc":`)
	if err := json.Unmarshal([]byte(addresses), s); err != nil {
		t.Fatalf("%v: %s", err, addresses)
	}
	if host, _, err := net.SplitHostPort(s.GRPC); err != nil || !net.ParseIP(host).IsUnspecified() {
		t.Errorf("it does not listen at all addresses: %s", addresses)
	}
	if code, body := s.ask("/v1/models/glyphs", nil); code != 200 {
		t.Errorf("the model's status: %d %s", code, body)
	}
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Invoke(t.Context(), "/tensorflow.serving.ModelService/HandleReloadConfigRequest", &emptypb.Empty{}, &emptypb.Empty{})
	if grpcstatus.Code(err) != codes.PermissionDenied {
		t.Errorf("an admin call: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// TestCompose checks that each service of the compose file is the task in its name, at the address that the others use.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Volumes     []string
			Environment map[string]string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tasks := map[string]bool{}
	for name, s := range file.Services {
		rc, err := runconfig.FromTFConfig(s.Environment["TF_CONFIG"])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		task := rc.TaskType()
		if task == runconfig.Worker {
			task = fmt.Sprintf("worker-%d", rc.TaskID())
		}
		tasks[task] = true
		address, _ := rc.ClusterSpec().Address(rc.TaskType(), rc.TaskID())
		if task != name || rc.TaskType() != runconfig.Evaluator && address != name+":2222" {
			t.Errorf("%s is %s at %s", name, task, address)
		}
		if s.Environment["GOESTIMATOR_JOB_TOKEN"] == "" || s.Environment["GOESTIMATOR_RUN_JOB_ID"] == "" || len(s.Command) == 0 || s.Command[0] != "train" || len(s.Volumes) != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, want := range []string{"chief", "worker-0", "worker-1", "ps", "evaluator"} {
		if !tasks[want] {
			t.Errorf("there is no %s", want)
		}
	}
	if _, ok := file.Volumes["models"]; !ok || registry.MatchString(file.Services["chief"].Image) {
		t.Errorf("volumes %v, image %s", file.Volumes, file.Services["chief"].Image)
	}
}
