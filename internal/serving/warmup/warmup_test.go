package warmup_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/warmup"
	"github.com/goestimator/goestimator/tensor"
	"github.com/google/go-cmp/cmp"
	"github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const (
	predict  = `predict_log { request { model_spec { name: "other" version { value: 77 } } inputs { key: "x" value { dtype: DT_FLOAT float_val: 1 } } } }`
	unnamed  = `predict_log { request { inputs { key: "x" value { dtype: DT_FLOAT float_val: 1 } } } }`
	labelled = `classify_log { request { model_spec { version_label: "canary" signature_name: "classify" } input { example_list { examples {} } } } }`
	regress  = `regress_log { request { model_spec { signature_name: "regress" } input { example_list { examples {} } } } }`
	multi    = `multi_inference_log { request { tasks { model_spec { name: "m" signature_name: "only_scores" } method_name: "tensorflow/serving/classify" }
		tasks { model_spec { name: "m" signature_name: "regress" } method_name: "tensorflow/serving/regress" } input { example_list { examples {} } } } }`
)

func parse(t testing.TB, texts ...string) (logs []*apis.PredictionLog) {
	t.Helper()
	for _, text := range texts {
		l := &apis.PredictionLog{}
		if err := prototext.Unmarshal([]byte(text), l); err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	return logs
}

// raw is a file with records that Encode might refuse.
func raw(t *testing.T, texts ...string) (file []byte) {
	for _, l := range parse(t, texts...) {
		b, err := proto.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		file = tfrecord.Append(file, b)
	}
	return file
}

// TestMemory: a record may use as much memory as a request of the same size.
func TestMemory(t *testing.T) {
	memory := budget.NewServer(budget.Limits{Server: 1 << 30})
	defer memory.Close()
	many := &apis.PredictionLog{LogType: &apis.PredictionLog_ClassifyLog{ClassifyLog: &apis.ClassifyLog{Request: &apis.ClassificationRequest{
		ModelSpec: &apis.ModelSpec{Name: "m", SignatureName: "classify"}, Input: &apis.Input{Kind: &apis.Input_ExampleListWithContext{ExampleListWithContext: &apis.ExampleListWithContext{
			Context:  &example_protos_go_proto.Example{Features: &example_protos_go_proto.Features{Feature: map[string]*example_protos_go_proto.Feature{strings.Repeat("c", 10_000): {}}}},
			Examples: slices.Repeat([]*example_protos_go_proto.Example{{}}, 100_000)}}}}}}}
	file, err := warmup.Encode(many)
	if err != nil {
		t.Fatal(err)
	}
	err = warmup.Run(t.Context(), modeltest.New(), id, directory(t, file), warmup.Options{Memory: memory})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "--"+budget.RequestFlag) || memory.Used() != 0 {
		t.Errorf("%.300v, %d bytes are still counted", err, memory.Used())
	}
}

func directory(t testing.TB, file []byte) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(warmup.File))
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recorder returns the test model, with the fetches of its runs.
func recorder() (*servable.Func, *[]string) {
	var runs []string
	m := modeltest.New()
	compute := m.Compute
	m.Compute = func(ctx context.Context, feeds map[string]*tensor.Tensor, fetches []string) ([]*tensor.Tensor, error) {
		runs = append(runs, strings.Join(fetches, " "))
		return compute(ctx, feeds, fetches)
	}
	return m, &runs
}

var id = servable.ID{Name: "m", Version: 3}

func TestReplay(t *testing.T) {
	file, err := warmup.Encode(parse(t, predict, unnamed, labelled, regress, multi)...)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, raw(t, predict, unnamed, labelled, regress, multi)) {
		t.Error("the file is not records of the logs")
	}
	for _, iterations := range []int{-1, 0, 1, 3} {
		m, runs := recorder()
		if err := warmup.Run(t.Context(), m, id, directory(t, file), warmup.Options{Iterations: iterations}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, fetches := range []string{"half:0", "half:0", "classes:0 scores:0", "lengths:0", "lengths:0 scores:0"} {
			want = append(want, slices.Repeat([]string{fetches}, max(iterations, 1))...)
		}
		if diff := cmp.Diff(want, *runs); diff != "" {
			t.Errorf("%d iterations: %s", iterations, diff)
		}
	}
}

func TestNothingToReplay(t *testing.T) {
	m, runs := recorder()
	for _, dir := range []string{t.TempDir(), directory(t, nil), directory(t, raw(t, ""))} {
		if err := warmup.Run(t.Context(), m, id, dir, warmup.Options{}); err != nil || len(*runs) > 0 {
			t.Errorf("%v after %v", err, *runs)
		}
	}
}

func TestFailures(t *testing.T) {
	good := raw(t, predict)
	broken := slices.Clone(good)
	broken[len(broken)-1] ^= 1
	for name, tc := range map[string]struct {
		file []byte
		code codes.Code
		text string
		runs int
	}{
		"session":     {raw(t, "session_run_log {}"), codes.Unimplemented, "Unsupported log_type for warmup: 5", 0},
		"streamed":    {raw(t, predict, "predict_streamed_log {}"), codes.Unimplemented, "Unsupported log_type for warmup: 7", 1},
		"signature":   {raw(t, `predict_log { request { model_spec { signature_name: "nothing" } } }`), codes.FailedPrecondition, `Serving signature key "nothing" not found.`, 0},
		"empty":       {raw(t, `predict_log {}`), codes.InvalidArgument, "input size does not match signature", 0},
		"multi empty": {raw(t, `multi_inference_log {}`), codes.InvalidArgument, "ModelSpec has no name specified.", 0},
		"panic":       {raw(t, strings.Replace(predict, "version { value: 77 }", `signature_name: "panics"`, 1)), codes.Internal, "panicked", 1},
		"too many":    {bytes.Repeat(good, 1001), codes.InvalidArgument, "Number of warmup records exceeds the maximum (1000) at ", 1000},
		"corrupt":     {broken, codes.DataLoss, "Please verify your warmup data is in TFRecord format.", 0},
		"cut":         {good[:len(good)-3], codes.DataLoss, "Please verify your warmup data is in TFRecord format.", 0},
		"no message":  {tfrecord.Append(nil, []byte("\xff\xff")), codes.InvalidArgument, "Failed to parse warmup record: ", 0},
	} {
		m, runs := recorder()
		err := warmup.Run(t.Context(), m, id, directory(t, tc.file), warmup.Options{})
		if st := status.Convert(err); st.Code() != tc.code || !strings.Contains(st.Message(), tc.text) || len(*runs) != tc.runs {
			t.Errorf("%s: %d runs, %v", name, len(*runs), err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := warmup.Run(ctx, modeltest.New(), id, directory(t, good), warmup.Options{}); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := warmup.Encode(slices.Repeat(parse(t, predict), 1001)...); err == nil {
		t.Error("1001 records were encoded")
	}
	if _, err := warmup.Encode(parse(t, "session_run_log {}")...); err == nil {
		t.Error("a log of a session was encoded")
	}
}

// TestFeeds: records show the feeds of each signature; an unreadable record ends the list.
func TestFeeds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(warmup.File))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if feeds := warmup.Feeds(t.Context(), dir, modeltest.New().Signatures()); len(feeds) != 0 {
		t.Errorf("without records: got %v", feeds)
	}
	file := append(raw(t, predict, regress), "not a record"...)
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	feeds := warmup.Feeds(t.Context(), dir, modeltest.New().Signatures())
	x := feeds["serving_default"]
	if len(x) != 1 || len(x[0]) != 1 || len(feeds["regress"]) != 1 {
		t.Fatalf("got %v", feeds)
	}
	for _, v := range x[0] {
		if v.DType != tensor.Float32 || tensor.Values[float32](v)[0] != 1 {
			t.Errorf("got %v", v)
		}
	}
}
