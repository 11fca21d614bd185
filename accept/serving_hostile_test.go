package accept

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/testkit"
)

// mutation damages a SavedModel in a folder; other is the folder of another SavedModel.
type mutation struct {
	name string
	do   func(r *rand.Rand, dir, other string) error
}

// mutations change bytes of files, whole files, and fields of protocol buffers.
var mutations = []mutation{
	{"flip", func(r *rand.Rand, dir, _ string) error { return inAnyFile(r, dir, flip) }},
	{"flip_graph", func(r *rand.Rand, dir, _ string) error { return inFile(r, graphFile(dir), flip) }},
	{"cut", func(r *rand.Rand, dir, _ string) error {
		return inAnyFile(r, dir, func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b)+1)] })
	}},
	{"splice", func(r *rand.Rand, dir, _ string) error { return inAnyFile(r, dir, splice) }},
	{"noise", func(r *rand.Rand, dir, _ string) error {
		return inAnyFile(r, dir, func(r *rand.Rand, b []byte) []byte {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		})
	}},
	{"other_graph", func(_ *rand.Rand, dir, other string) error {
		return copyFile(graphFile(other), graphFile(dir))
	}},
	{"other_variables", func(_ *rand.Rand, dir, other string) error { return replace(dir, other, "variables") }},
	{"other_file", func(r *rand.Rand, dir, _ string) error {
		return copyFile(anyFile(r, dir), anyFile(r, dir))
	}},
	{"gone", func(r *rand.Rand, dir, _ string) error { return os.Remove(anyFile(r, dir)) }},
	{"nodes", func(r *rand.Rand, dir, _ string) error { return inProto(r, dir, mangleNodes) }},
	{"shapes", func(r *rand.Rand, dir, _ string) error { return inProto(r, dir, mangleShapes) }},
	{"signatures", func(r *rand.Rand, dir, _ string) error { return inProto(r, dir, mangleSignatures) }},
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

func flip(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(8) {
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// splice repeats or removes a range of bytes.
func splice(r *rand.Rand, b []byte) []byte {
	i, j := r.IntN(len(b)+1), r.IntN(len(b)+1)
	return append(slices.Clone(b[:i]), b[j:]...)
}

// graphFile returns the file with the protocol buffers, binary or text.
func graphFile(dir string) string {
	path := filepath.Join(dir, "saved_model.pb")
	if _, err := os.Stat(path); err != nil {
		return path + "txt"
	}
	return path
}

func anyFile(r *rand.Rand, dir string) string {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	return all[r.IntN(len(all))]
}

func inAnyFile(r *rand.Rand, dir string, f func(*rand.Rand, []byte) []byte) error {
	return inFile(r, anyFile(r, dir), f)
}

func inFile(r *rand.Rand, path string, f func(*rand.Rand, []byte) []byte) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, f(r, b), 0o644)
}

// replace replaces a part of this model with that of the other one.
func replace(dir, other, name string) error {
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(other, name)); err != nil {
		return nil
	}
	return os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(other, name)))
}

func inProto(r *rand.Rand, dir string, f func(*rand.Rand, *pb.MetaGraphDef)) error {
	return inFile(r, graphFile(dir), func(r *rand.Rand, b []byte) []byte {
		m := &pb.SavedModel{}
		if proto.Unmarshal(b, m) != nil || len(m.MetaGraphs) == 0 {
			return b
		}
		for range 1 + r.IntN(4) {
			f(r, m.MetaGraphs[0])
		}
		if out, err := proto.Marshal(m); err == nil {
			return out
		}
		return b
	})
}

func mangleNodes(r *rand.Rand, m *pb.MetaGraphDef) {
	nodes := m.GraphDef.Node
	n, other := nodes[r.IntN(len(nodes))], nodes[r.IntN(len(nodes))]
	switch r.IntN(8) {
	case 0:
		n.Op = other.Op
	case 1:
		n.Input = append(n.Input, other.Name)
	case 2:
		n.Input = n.Input[:r.IntN(len(n.Input)+1)]
	case 3:
		for i := range n.Input { // cycles among them
			n.Input[i] = other.Name
		}
	case 4:
		n.Name = other.Name
	case 5:
		n.Attr, other.Attr = other.Attr, n.Attr
	case 6:
		if names := slices.Sorted(maps.Keys(n.Attr)); len(names) > 0 {
			delete(n.Attr, names[r.IntN(len(names))])
		}
	case 7:
		for i := range n.Input {
			n.Input[i] = fmt.Sprintf("%s:%d", n.Input[i], r.IntN(1<<20))
		}
	}
}

// wrongSizes are implausible dimensions.
var wrongSizes = []int64{-1, -2, 0, 1, 7, 1 << 20, 1 << 31, 1 << 40, 1<<63 - 1, -1 << 63}

func mangleShapes(r *rand.Rand, m *pb.MetaGraphDef) {
	for range 50 { // until one has a shape
		n := m.GraphDef.Node[r.IntN(len(m.GraphDef.Node))]
		for _, a := range n.Attr {
			shape := a.GetShape()
			if t := a.GetTensor(); t != nil {
				shape = t.TensorShape
			}
			if shape == nil || len(shape.Dim) == 0 {
				continue
			}
			shape.Dim[r.IntN(len(shape.Dim))].Size = wrongSizes[r.IntN(len(wrongSizes))]
			return
		}
	}
}

func mangleSignatures(r *rand.Rand, m *pb.MetaGraphDef) {
	for _, key := range slices.Sorted(maps.Keys(m.SignatureDef)) {
		s := m.SignatureDef[key]
		for _, infos := range []map[string]*pb.TensorInfo{s.Inputs, s.Outputs} {
			for _, alias := range slices.Sorted(maps.Keys(infos)) { // so that a seed always gives the same model
				info := infos[alias]
				switch r.IntN(4) {
				case 0:
					info.Encoding = &pb.TensorInfo_Name{Name: m.GraphDef.Node[r.IntN(len(m.GraphDef.Node))].Name + ":0"}
				case 1:
					info.Dtype = 1 + (info.Dtype+7)%20
				case 2:
					if d := info.GetTensorShape().GetDim(); len(d) > 0 {
						d[0].Size = wrongSizes[r.IntN(len(wrongSizes))]
					}
				}
			}
		}
	}
	for _, a := range m.AssetFileDef {
		a.Filename = []string{"../../../../etc/passwd", "/etc/passwd", "", "a\x00b", strings.Repeat("x/", 5000)}[r.IntN(5)]
	}
}

// limited returns a command that runs goestimator with an address space limited to a number of GiB.
func limited(gib int, args ...string) []string {
	path, err := testkit.Program()
	if err != nil {
		panic(err) // the caller has already run it
	}
	return append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, gib<<20), path}, args...)
}

// crashed reports whether the output contains signs of a crash of the Go runtime.
func crashed(out string) bool {
	return strings.Contains(out, "panic") || strings.Contains(out, "goroutine ") || strings.Contains(out, "fatal error") || strings.Contains(out, "SIG")
}

// soundModels returns the folders of valid SavedModels of all kinds.
func soundModels(t *testing.T) []string {
	trees := []string{"--config", "configs/titanic_boosted_trees.yaml", "--set", "data_dir=" + testkit.Shared(t, "data/titanic"), "--set", "model.params.n_trees=2",
		"--set", "eval.exporters=[]", "--set", "model_dir=" + t.TempDir(), "--set", "export.warm_up_requests=1"}
	train(t, trees...)
	dir := t.TempDir()
	network := exportJob(dir)
	train(t, network...)
	golden := testkit.Shared(t, "golden/tensorflow-serving")
	return []string{exportTo(t, t.TempDir(), trees...), exportTo(t, t.TempDir(), append(trees, "--text")...), exportTo(t, t.TempDir(), network...),
		filepath.Join(golden, "saved_model_half_plus_two_cpu", "00000123"), filepath.Join(golden, "saved_model_half_plus_three", "00000123")}
}

// TestHostileModels gives damaged SavedModels to `inspect savedmodel` and to a server, with little memory. Nothing
// crashes, each error names the model and the problem, and a valid model beside them is served.
func TestHostileModels(t *testing.T) {
	count := 60
	if thorough(t) {
		count = 600
	}
	sound, root := soundModels(t), t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	names := make([]string, count)
	for i := range count {
		m, from := mutations[i%len(mutations)], sound[r.IntN(len(sound))]
		names[i] = fmt.Sprintf("%03d_%s", i, m.name)
		dir := filepath.Join(root, names[i], "1")
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		if err := m.do(r, dir, sound[r.IntN(len(sound))]); err != nil {
			t.Fatalf("%s: %v", names[i], err)
		}
	}
	if err := os.CopyFS(filepath.Join(root, "sound", "1"), os.DirFS(sound[3])); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, name := range names {
		if !inspected(t, filepath.Join(root, name, "1")) {
			refused++
		}
	}
	t.Logf("inspect refuses %d of %d", refused, count)
	servedHostile(t, root, names)
}

// inspected runs `inspect savedmodel` and reports whether it accepts the model.
func inspected(t *testing.T, dir string) bool {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	args := limited(4, "inspect", "savedmodel", dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil {
		return true
	}
	var exit *exec.ExitError
	text := stderr.String()
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || crashed(text) {
		t.Errorf("%s: %v: %s", dir, err, tail(text))
	} else if strings.Count(text, "\n") != 1 || !strings.Contains(text, dir) || len(text) > 3000 {
		t.Errorf("%s: expected a line that names it: %.500s", dir, text)
	}
	return false
}

// servedHostile serves all models and sends a request to each available one.
func servedHostile(t *testing.T, root string, names []string) {
	s := launchAs(t, limited(6, "serve", "--json", "--host", "127.0.0.1", "--port", "0", "--rest-port", "0", "--model-root", root, "--max-num-load-retries", "0")...)
	s.ready()
	c := s.dial()
	example := base64.StdEncoding.EncodeToString(serialized(t, map[string]any{"pclass": decimal(1), "age": decimal(29), "sibsp": decimal(0), "parch": decimal(0),
		"fare": decimal(7), "sex": "male", "embarked": "S"}))
	bodies := map[string]any{"numbers": map[string]any{"instances": []any{1, 2}}, "image": map[string]any{"instances": []any{image(0.5)}},
		"examples": map[string]any{"signature_name": "predict", "instances": []any{map[string]any{"b64": example}}}}
	available, answered, most := 0, 0, 0
	for _, name := range append(names, "sound") {
		all, err := c.Status(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := all[0]; v.State == "END" {
			if text := fmt.Sprint(v.Err); v.Err == nil || len(text) > 3000 || crashed(text) {
				t.Errorf("%s: expected an error that says what is wrong: %.500s", name, text)
			} else {
				t.Logf("%s: %.250s", name, text)
			}
			continue
		}
		available++
		for what, body := range bodies {
			code, reply := s.ask("/v1/models/"+name+":predict", body)
			if code == 200 {
				answered++
			}
			if crashed(string(reply)) || code != 200 && code != 400 && code != 404 && code != 412 && code != 429 {
				t.Errorf("%s: %s: %d %.500s", name, what, code, reply)
			}
		}
		most = max(most, s.resident())
	}
	if code, reply := s.ask("/v1/models/sound:predict", bodies["numbers"]); code != 200 || !strings.Contains(string(reply), "2.5") {
		t.Errorf("the sound model: %d %s", code, reply)
	}
	t.Logf("%d of %d models are served, %d requests answered with 200; at most %d MiB", available, len(names)+1, answered, most)
	if most > 2048 {
		t.Errorf("the server takes %d MiB", most)
	}
	if code, log := s.end(syscall.SIGTERM), s.log.String(); code != 0 || crashed(log) {
		t.Errorf("exit code %d after SIGTERM, expected 0; the log from where it crashed, if so: %.3000s", code, log[max(strings.Index(log, "panic"), 0):])
	}
}
