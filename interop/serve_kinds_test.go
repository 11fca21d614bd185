package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// The results of serving a model.
const (
	answered = "right"
	refused  = "refused"
	failing  = "available but failing"
	wrong    = "wrong"
)

// kindResult is the result of serving a model, and the reasons.
type kindResult struct {
	servedKind
	what string
	why  []string
}

// kindServer is a process of `goestimator serve` that serves one model at a time.
type kindServer struct{ conn *grpc.ClientConn }

func newKindServer(t *testing.T) *kindServer {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "models.config")
	if err := os.WriteFile(empty, []byte("model_config_list {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	at := serve(t, "--model-config-file", empty)
	conn, err := grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return &kindServer{conn}
}

// load replaces the served model, and waits until it is loaded.
func (s *kindServer) load(t *testing.T, name, path string) error {
	t.Helper()
	list := &config.ModelConfigList{Config: []*config.ModelConfig{{Name: name, BasePath: path, ModelPlatform: "tensorflow"}}}
	in := &apis.ReloadConfigRequest{Config: &config.ModelServerConfig{Config: &config.ModelServerConfig_ModelConfigList{ModelConfigList: list}}}
	r := &apis.ReloadConfigResponse{}
	err := s.conn.Invoke(t.Context(), "/tensorflow.serving.ModelService/HandleReloadConfigRequest", in, r)
	if err == nil && r.GetStatus().GetErrorCode() != 0 {
		err = errors.New(r.GetStatus().GetErrorMessage())
	}
	return err
}

// missing runs `serve --check` for everything that a refused model needs.
func missing(t *testing.T, path string) (why []string) {
	t.Helper()
	program, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "serve", "--check", path, "--json").Output()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) { // 1: it is refused
		t.Fatal(err)
	}
	var check struct {
		Missing []struct{ Op, Needs string }
		Error   string
	}
	if err := json.Unmarshal(out, &check); err != nil {
		t.Fatalf("serve --check: %v: %q", err, out)
	}
	for _, m := range check.Missing {
		why = append(why, m.Op+": "+m.Needs)
	}
	if check.Error != "" {
		why = append(why, check.Error)
	}
	return why
}

// predict calls a signature.
func (s *kindServer) predict(t *testing.T, name string, r servedRun) (map[string]*tensor.Tensor, error) {
	t.Helper()
	in := map[string]*tensor_go_proto.TensorProto{}
	for alias, x := range r.Inputs {
		p, err := graphdef.ToTensorProto(x.tensor(t), true)
		if err != nil {
			t.Fatal(err)
		}
		in[alias] = p
	}
	answer := &apis.PredictResponse{}
	request := &apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: name, SignatureName: r.Signature}, Inputs: in}
	if err := s.conn.Invoke(t.Context(), "/tensorflow.serving.PredictionService/Predict", request, answer); err != nil {
		return nil, errors.New(status.Convert(err).Message())
	}
	out := map[string]*tensor.Tensor{}
	for alias, p := range answer.GetOutputs() {
		var err error
		if out[alias], err = graphdef.FromTensorProto(p); err != nil {
			t.Fatalf("%s: %v", alias, err)
		}
	}
	return out, nil
}

// kindTable is the table of all models, for docs/models.md.
func kindTable(results []kindResult) string {
	var b strings.Builder
	b.WriteString("# Models\n\nWritten by `GOESTIMATOR_ACCEPT=1 go test ./interop -run TestServeModels -models-table ../docs/models.md`: `interop/python/serve_models.py` saves models of the kinds\n" +
		"that companies serve with TensorFlow 2.15 and random weights. `goestimator serve` loads each, and its answers over gRPC are compared with TensorFlow's.\n\n" +
		"- **right**: all signatures answer as TensorFlow does: floats within 1e-5 of the larger of 1 and the value, those of 16 bits within their last digit, all else exactly.\n" +
		"- **refused**: not loaded, with all reasons.\n- **failing**: available, but a request fails.\n- **wrong**: an answer differs.\n\n" +
		"| family | kinds | right | refused | failing | wrong |\n|---|---|---|---|---|---|\n")
	var families []string
	byFamily := map[string][]kindResult{}
	for _, r := range results {
		if byFamily[r.family] == nil {
			families = append(families, r.family)
		}
		byFamily[r.family] = append(byFamily[r.family], r)
	}
	for _, f := range families {
		b.WriteString(kindCounts(f, byFamily[f]))
	}
	b.WriteString(kindCounts("all", results))
	for _, f := range families {
		fmt.Fprintf(&b, "\n## %s\n\n", f)
		var right []string
		for _, r := range byFamily[f] {
			if r.what == answered {
				right = append(right, "`"+r.name+"`")
			}
		}
		fmt.Fprintf(&b, "Right: %s.\n", strings.Join(right, ", "))
		for _, r := range byFamily[f] {
			if r.what != answered {
				fmt.Fprintf(&b, "\n`%s` is %s: %s.\n", r.name, r.what, strings.Join(r.why, "; "))
			}
		}
	}
	return b.String()
}

// kindCounts is a row of the table.
func kindCounts(family string, results []kindResult) string {
	n := map[string]int{}
	for _, r := range results {
		n[r.what]++
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", family, len(results), n[answered], n[refused], n[failing], n[wrong])
}
