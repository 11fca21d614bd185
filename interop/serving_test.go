package interop_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

// modelServer serves the models of modeltest over gRPC.
func modelServer(t *testing.T) string {
	t.Helper()
	models := modeltest.Source()
	s := grpc.NewServer(grpcapi.Options(grpcapi.Limits{})...)
	grpcapi.Register(s, &inference.Service{Models: models}, &grpcapi.Models{Catalog: models})
	reflection.Register(s)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return lis.Addr().String()
}

func TestServingAPIClient(t *testing.T) {
	p := peers(t)
	if exec.Command(p.path, "-c", "import tensorflow_serving.apis").Run() != nil {
		t.Skip("skipped: tensorflow-serving-api is not installed (make peers)")
	}
	if out := p.run(t, "serving_client.py", modelServer(t)); !strings.Contains(out, "all calls answered") {
		t.Error("the client stopped early")
	}
}

// tool runs a program with the time limit of a script and returns its output.
func tool(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), scriptTime)
	defer stop()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// accepting skips a test that installs programs unless the long tests run.
func accepting(t *testing.T) {
	t.Helper()
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: it installs programs; GOESTIMATOR_ACCEPT=1 runs it")
	}
}

// grpcurl returns the path of grpcurl. It builds grpcurl if it is not installed, or skips the test.
func grpcurl(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("grpcurl"); err == nil {
		return path
	}
	accepting(t)
	bin := t.TempDir()
	if out, err := tool(t, bin, []string{"GOBIN=" + bin, "GOFLAGS="}, "go", "install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"); err != nil {
		t.Skipf("skipped: grpcurl cannot be installed: %v\n%s", err, tail(out, 500))
	}
	return filepath.Join(bin, "grpcurl")
}

func TestGRPCurl(t *testing.T) {
	path, addr := grpcurl(t), modelServer(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{addr, "list"}, "tensorflow.serving.PredictionService"},
		{[]string{addr, "list", "tensorflow.serving.ModelService"}, "tensorflow.serving.ModelService.HandleReloadConfigRequest"},
		{[]string{addr, "describe", "tensorflow.serving.PredictionService"}, "rpc MultiInference ( .tensorflow.serving.MultiInferenceRequest ) returns ( .tensorflow.serving.MultiInferenceResponse );"},
		{[]string{addr, "describe", "tensorflow.serving.PredictRequest"}, "map<string, .tensorflow.TensorProto> inputs = 2;"},
		{[]string{"-d", `{"model_spec": {"name": "m"}, "inputs": {"x": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": 2}]}, "float_val": [1, 5]}}}`,
			addr, "tensorflow.serving.PredictionService/Predict"}, "4.5"},
		{[]string{"-d", `{"model_spec": {"name": "m"}, "metadata_field": ["signature_def"]}`, addr, "tensorflow.serving.PredictionService/GetModelMetadata"}, `"type.googleapis.com/tensorflow.serving.SignatureDefMap"`},
		{[]string{"-d", `{"model_spec": {"name": "nobody"}}`, addr, "tensorflow.serving.PredictionService/Predict"}, "Message: Servable not found for request: Latest(nobody)"},
	} {
		if out, _ := tool(t, "", nil, path, append([]string{"-plaintext"}, tc.args...)...); !strings.Contains(out, tc.want) {
			t.Errorf("%q: %s", tc.args, out)
		}
	}
}

// jsClient makes a folder with a script, the JavaScript modules and, in protos, the .proto files from the server's reflection.
func jsClient(t *testing.T, addr, script string) string {
	t.Helper()
	accepting(t)
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: %v", err)
		}
	}
	path, dir := grpcurl(t), t.TempDir()
	for _, name := range []string{"package.json", script} {
		b, err := os.ReadFile(filepath.Join("js", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), b)
	}
	if out, err := tool(t, dir, nil, "npm", "install", "--silent", "--no-audit", "--no-fund"); err != nil {
		t.Skipf("skipped: @grpc/grpc-js cannot be installed: %v\n%s", err, tail(out, 500))
	}
	for _, service := range []string{grpcapi.PredictionService, grpcapi.ModelService} {
		if out, err := tool(t, "", nil, path, "-plaintext", "-proto-out-dir", filepath.Join(dir, "protos"), addr, "describe", service); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// TestGRPCJS tests the server with a JavaScript client.
func TestGRPCJS(t *testing.T) {
	addr := modelServer(t)
	dir := jsClient(t, addr, "serving_client.js")
	if out, err := tool(t, dir, nil, "node", "serving_client.js", addr, "protos"); err != nil || !strings.Contains(out, "all calls answered") {
		t.Errorf("%v\n%s", err, out)
	}
}
