package compat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli"
	"github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// exported are the jobs that have an export.
var exported = []string{"columns", "dense", "trees"}

// TestServe serves the exports of the earlier commit, and new exports of its checkpoints: both must answer every request
// with exactly the bytes that the earlier commit answered.
func TestServe(t *testing.T) {
	if *rewrite {
		for _, job := range exported {
			to := filepath.Join(testdata, "serving", job, "1")
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(to, os.DirFS(filepath.Join(export(t, job), "1"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept, made := map[string]string{}, map[string]string{}
	for _, job := range exported {
		kept[job], made[job] = filepath.Join(testdata, "serving", job), export(t, job)
	}
	atEachLevel(t, func(t *testing.T, level string) {
		t.Run("kept", func(t *testing.T) { answers(t, kept, level) })
		t.Run("made", func(t *testing.T) { answers(t, made, level) })
	})
}

// TestONNX exports a checkpoint of the earlier commit as ONNX and compares the file.
func TestONNX(t *testing.T) {
	copied(t, "jobs", "dense")
	command(t, "export", "--config", "run/config.yaml", "--to", "onnx", "--format", "onnx")
	files, err := filepath.Glob("onnx/*/model.onnx")
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v: want one model.onnx", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	compared(t, string(b), "serving", "dense", "model.onnx")
}

// export exports the checkpoint of a job as a SavedModel and returns the folder of its only version, 1.
func export(t *testing.T, job string) string {
	t.Helper()
	copied(t, "jobs", job)
	command(t, "export", "--config", "run/config.yaml", "--to", "exports")
	folders, err := filepath.Glob("exports/*")
	if err != nil || len(folders) != 1 {
		t.Fatalf("%q, %v: want one export", folders, err)
	}
	to, err := filepath.Abs("exports")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folders[0], filepath.Join(to, "1")); err != nil {
		t.Fatal(err)
	}
	return to
}

// answers serves models from their folders and compares the answers to the requests of testdata.
func answers(t *testing.T, models map[string]string, level string) {
	t.Helper()
	at := serve(t, models)
	for _, job := range exported {
		requests, err := filepath.Glob(filepath.Join(testdata, "serving", job, "*.request"))
		if err != nil || len(requests) == 0 {
			t.Fatalf("no requests: %v", err)
		}
		var out strings.Builder
		for _, path := range requests {
			fmt.Fprintf(&out, "-- %s\n%s", strings.TrimSuffix(filepath.Base(path), ".request"), answer(t, at, path))
		}
		compared(t, out.String(), "serving", job, level+".txt")
	}
}

// answer sends the request in a file. The first line is the REST path or the gRPC method.
func answer(t *testing.T, at addresses, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	method, body, _ := strings.Cut(string(text), "\n")
	if strings.HasPrefix(method, "/tensorflow.serving.") {
		return call(t, at.GRPC, method, body)
	}
	return post(t, "http://"+at.REST+method, body)
}

// addresses are the addresses that a server listens on.
type addresses struct{ GRPC, REST string }

// serve starts a server in this process at the active SIMD level and stops it when the test ends.
func serve(t *testing.T, models map[string]string) (at addresses) {
	t.Helper()
	args := []string{"serve", "--host=127.0.0.1", "--port=0", "--rest-port=0", "--device=/cpu:0", "--json", "--quiet"}
	for name, folder := range models {
		args = append(args, "--model", name+"="+folder)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer w.Close()
		cli.Run(ctx, args, w, &stderr)
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		_, _ = io.Copy(io.Discard, r)
		<-ended
	})
	first, _ := bufio.NewReader(r).ReadString('\n')
	if err := json.Unmarshal([]byte(first), &at); err != nil {
		cancel()
		<-ended
		t.Fatalf("addresses %q: %v\n%s", first, err, stderr.String())
	}
	return at
}

// post sends a request to the REST API and returns the status and body of the reply.
func post(t *testing.T, url, body string) string {
	t.Helper()
	reply, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s\n", reply.StatusCode, text)
}

// call sends a request, as text, to the gRPC API and returns the reply as JSON in a fixed format.
func call(t *testing.T, address, method, body string) string {
	t.Helper()
	var in, out proto.Message
	switch method[strings.LastIndex(method, "/")+1:] {
	case "Predict":
		in, out = new(apis_go_proto.PredictRequest), new(apis_go_proto.PredictResponse)
	case "Classify":
		in, out = new(apis_go_proto.ClassificationRequest), new(apis_go_proto.ClassificationResponse)
	default:
		t.Fatalf("unknown method %s", method)
	}
	if err := prototext.Unmarshal([]byte(body), in); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Invoke(context.Background(), method, in, out); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var fixed bytes.Buffer // protojson varies its spaces on purpose
	if err := json.Compact(&fixed, text); err != nil {
		t.Fatal(err)
	}
	return fixed.String() + "\n"
}
