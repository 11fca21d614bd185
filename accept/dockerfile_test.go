package accept

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

// stage is a target of a Dockerfile.
type stage struct {
	from, name string
	lines      [][2]string // instruction and its arguments
}

// dockerfile reads the Dockerfile and substitutes the defaults of its arguments.
func dockerfile(t *testing.T) []stage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	args, stages := map[string]string{}, []stage(nil)
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case word == "ARG":
			name, value, _ := strings.Cut(rest, "=")
			args[name] = value
		case word == "FROM":
			f := strings.Fields(os.Expand(rest, func(name string) string { return args[name] }))
			s := stage{from: f[0]}
			if len(f) == 3 {
				s.name = f[2]
			}
			stages = append(stages, s)
		default:
			last := &stages[len(stages)-1]
			last.lines = append(last.lines, [2]string{word, rest})
		}
	}
	return stages
}

// named returns the stage with a name; "" means the last one.
func named(t *testing.T, stages []stage, name string) stage {
	t.Helper()
	i := slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("the Dockerfile has no stage %q", name)
	}
	return stages[i]
}

// of returns the arguments of all lines of a stage with a given instruction.
func (s stage) of(instruction string) []string {
	var out []string
	for _, l := range s.lines {
		if l[0] == instruction {
			out = append(out, l[1])
		}
	}
	return out
}

// exec is the argument list of ENTRYPOINT or CMD.
func (s stage) exec(t *testing.T, instruction string) []string {
	t.Helper()
	var words []string
	if err := json.Unmarshal([]byte(strings.Join(s.of(instruction), "")), &words); err != nil {
		t.Fatalf("%s: %v", instruction, err)
	}
	return words
}

// assemble creates the files of a stage in a folder: it runs the Go builds of earlier stages, and copies.
func assemble(t *testing.T, stages []stage, s stage, root string) {
	t.Helper()
	work := t.TempDir()
	for _, dir := range []string{"out", "skeleton/models", "skeleton/tmp"} { // the mkdir of the stage source
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range s.of("COPY") {
		f := strings.Fields(line)
		from, ok := strings.CutPrefix(f[0], "--from=")
		if !ok {
			t.Fatalf("COPY %s: expected --from", line)
		}
		buildStage(t, named(t, stages, from), work)
		owner := ""
		if o, ok := strings.CutPrefix(f[1], "--chown="); ok {
			owner, f = o, slices.Delete(f, 1, 2)
		}
		source := f[1]
		if !strings.HasPrefix(source, "/etc/") { // this machine's certificates
			source = work + source
		}
		copyInto(t, source, filepath.Join(root, f[2])+suffix(f[2]), owner)
	}
}

func suffix(path string) string {
	if strings.HasSuffix(path, "/") {
		return "/"
	}
	return ""
}

// buildStage runs the builds of a stage into a folder once.
func buildStage(t *testing.T, s stage, work string) {
	t.Helper()
	for _, line := range s.of("RUN") {
		build, ok := strings.CutPrefix(line, "CGO_ENABLED=0 go build ")
		if !ok {
			t.Fatalf("RUN %s: expected a build without cgo", line)
		}
		args := strings.Fields(strings.Replace(build, "/out/", filepath.Join(work, "out")+"/", 1))
		if _, err := os.Stat(args[slices.Index(args, "-o")+1]); err == nil {
			continue
		}
		cmd := exec.Command("go", append([]string{"build"}, args...)...)
		cmd.Dir, cmd.Env = testkit.Root(), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("RUN %s: %v\n%s", line, err, out)
		}
	}
}

// copyInto copies a file, or the contents of a folder, like COPY.
func copyInto(t *testing.T, from, to, owner string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(from); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		from += "/."
	}
	args := []string{"-R", from, to}
	if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
		t.Fatalf("cp %v: %v\n%s", args, err, out)
	}
	if owner == "" || os.Geteuid() != 0 {
		return
	}
	entries, err := os.ReadDir(strings.TrimSuffix(from, "/."))
	if err != nil {
		t.Fatal(err)
	}
	var uid, gid int
	if _, err := fmt.Sscanf(owner, "%d:%d", &uid, &gid); err != nil {
		t.Fatalf("--chown=%s: %v", owner, err)
	}
	for _, e := range entries {
		if err := os.Chown(filepath.Join(to, e.Name()), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
}
