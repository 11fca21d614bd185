package requestlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/tensor"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// models is a configuration of the model m.
func models(t *testing.T, logging string) *config.ModelServerConfig {
	t.Helper()
	var c config.ModelServerConfig
	if err := prototext.Unmarshal([]byte(`model_config_list { config { name: "m" logging_config {`+logging+`} } config { name: "quiet" } }`), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// newLogger logs every request of m to files below a folder.
func newLogger(t *testing.T, o Options) (l *Logger, prefix string) {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "given")
	prefix = filepath.Join(o.Dir, "logs", "m")
	o.Log = slog.New(slog.DiscardHandler)
	l = New(o)
	if err := l.Configure(models(t, "log_collector_config { type: 'tfrecord' filename_prefix: "+quoted(prefix)+" } sampling_config { sampling_rate: 1 }")); err != nil {
		t.Fatal(err)
	}
	return l, prefix
}

func end(t *testing.T, l *Logger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
}

// read returns the records of each file.
func read(t *testing.T, prefix string) (files [][]*apis.PredictionLog) {
	t.Helper()
	names, err := filepath.Glob(prefix + "-*.tfrecord")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var logs []*apis.PredictionLog
		for r := tfrecord.NewReader(bytes.NewReader(b)); ; {
			record, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			var m apis.PredictionLog
			if err == nil {
				err = proto.Unmarshal(record, &m)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			logs = append(logs, &m)
		}
		files = append(files, logs)
	}
	return files
}

// predict asks m for y = x/2+2 as the REST interface does.
func predict(t *testing.T, observers ...inference.Observer) {
	t.Helper()
	s := &inference.Service{Models: modeltest.Source(), Observers: observers, Entrypoint: "REST"}
	if _, err := s.PredictTensors(t.Context(), inference.Spec{Name: "m"}, map[string]*tensor.Tensor{"x": vector(t, 2, 4)}, nil); err != nil {
		t.Fatal(err)
	}
}

func vector(t *testing.T, values ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromSlice(values, len(values))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Requests of every kind are in the file, with their answers.
func TestRecords(t *testing.T) {
	var mu sync.Mutex
	outcomes := map[codes.Code]int{}
	l, prefix := newLogger(t, Options{Logged: func(model string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if model != "m" {
			t.Errorf("model %s", model)
		}
		outcomes[status.Code(err)]++
	}})
	predict(t, l)
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{l}}
	input := &apis.Input{Kind: &apis.Input_ExampleList{ExampleList: &apis.ExampleList{}}}
	if _, err := s.Classify(t.Context(), &apis.ClassificationRequest{ModelSpec: &apis.ModelSpec{Name: "m", SignatureName: "classify"}, Input: input}); err == nil {
		t.Error("an empty input was taken")
	}
	examples := inference.Examples{Serialized: [][]byte{{}}}
	if _, err := s.ClassifyExamples(t.Context(), inference.Spec{Name: "m", Signature: "classify"}, examples); err != nil {
		t.Error(err)
	}
	if _, err := s.RegressExamples(t.Context(), inference.Spec{Name: "m", Signature: "regress"}, examples); err != nil {
		t.Error(err)
	}
	if _, err := s.GetModelMetadata(t.Context(), &apis.GetModelMetadataRequest{ModelSpec: &apis.ModelSpec{Name: "m"}, MetadataField: []string{"signature_def"}}); err != nil {
		t.Error(err)
	}
	end(t, l)
	files := read(t, prefix)
	if len(files) != 1 || len(files[0]) != 3 || outcomes[codes.OK] != 3 || l.Dropped() != 0 {
		t.Fatalf("%d files, %v, %v; expected one of three records", len(files), files, outcomes)
	}
	first := files[0][0]
	if m := first.LogMetadata; m.ModelSpec.GetVersion().GetValue() != 2 || m.ModelSpec.GetSignatureName() != "serving_default" || m.SamplingConfig.GetSamplingRate() != 1 || m.TimestampSecs == 0 {
		t.Errorf("metadata %v", m)
	}
	p := first.GetPredictLog()
	if x, y := p.GetRequest().GetInputs()["x"], p.GetResponse().GetOutputs()["y"]; x.GetTensorShape().GetDim()[0].GetSize() != 2 || len(y.GetFloatVal()) != 2 || y.GetFloatVal()[0] != 3 {
		t.Errorf("predict log %v", p)
	}
	if files[0][1].GetClassifyLog().GetResponse() == nil || files[0][2].GetRegressLog().GetResponse() == nil {
		t.Error("a classification or a regression is missing")
	}
}

// Files that are full are followed by others; all records are there.
func TestRotation(t *testing.T) {
	l, prefix := newLogger(t, Options{FileBytes: 200, now: func() time.Time { return time.Unix(0, 0) }})
	for range 20 {
		predict(t, l)
	}
	end(t, l)
	files := read(t, prefix)
	records := 0
	for _, f := range files {
		records += len(f)
	}
	if len(files) < 5 || records != 20 {
		t.Errorf("%d records in %d files", records, len(files))
	}
	if _, err := os.Stat(prefix + fmt.Sprintf("-19700101T000000-%d-000.tfrecord", os.Getpid())); err != nil {
		t.Error(err)
	}
}

// A file is full with the record that makes it as large as FileBytes or larger; the next record goes to another file.
func TestRotationSize(t *testing.T) {
	const perFile, records = 3, 10
	l, prefix := newLogger(t, Options{})
	predict(t, l)
	end(t, l)
	one := sizes(t, prefix)[0] // all records have the same size
	for limit, want := range map[int64]int{perFile*one - 1: perFile, perFile * one: perFile, perFile*one + 1: perFile + 1} {
		l, prefix := newLogger(t, Options{FileBytes: limit, now: func() time.Time { return time.Unix(0, 0) }})
		for range records {
			predict(t, l)
		}
		end(t, l)
		got := sizes(t, prefix)
		for i, size := range got {
			full := int64(want) * one
			if i == len(got)-1 {
				full = int64(records-want*(records/want)) * one
			}
			if size != full {
				t.Errorf("file %d of %d, limit %d: %d bytes, expected %d", i, len(got), limit, size, full)
			}
		}
	}
}

// sizes returns the lengths of the files in order.
func sizes(t *testing.T, prefix string) (all []int64) {
	t.Helper()
	names, err := filepath.Glob(prefix + "-*.tfrecord")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Size())
	}
	return all
}

// Records that do not fit into the queue, or that the disk refuses, are dropped and counted.
func TestDropped(t *testing.T) {
	lost := make(chan error, 10)
	l, prefix := newLogger(t, Options{QueueBytes: 1, Logged: func(_ string, err error) { lost <- err }})
	predict(t, l)
	end(t, l)
	predict(t, l)
	if err := <-lost; status.Code(err) != codes.ResourceExhausted || l.Dropped() != 2 || len(read(t, prefix)) != 0 {
		t.Errorf("got %v, %d dropped", err, l.Dropped())
	}
	l, prefix = newLogger(t, Options{Logged: func(_ string, err error) { lost <- err }})
	<-lost
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(prefix)), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(prefix), []byte("a file in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	predict(t, l)
	end(t, l)
	if err := <-lost; status.Code(err) != codes.DataLoss || l.Dropped() != 1 {
		t.Errorf("got %v, %d dropped", err, l.Dropped())
	}
}

// TestRoomIsReserved: a record without room in the queue is not made. A record that is made takes its own size, or returns its room.
func TestRoomIsReserved(t *testing.T) {
	l, prefix := newLogger(t, Options{QueueBytes: 100})
	if !l.reserve(60) || l.reserve(41) || !l.reserve(40) || l.reserve(0) {
		t.Error("room for other than 100 bytes")
	}
	l.put(entry{}, 40)
	if !l.reserve(40) {
		t.Error("what was given back is taken")
	}
	l.put(entry{"m", prefix, make([]byte, 70)}, 60) // longer than expected: there is no room beside the other one
	l.put(entry{}, 40)
	if l.Dropped() != 1 || !l.reserve(100) {
		t.Errorf("%d are dropped, or there is no room", l.Dropped())
	}
	l.put(entry{}, 100)
	end(t, l)
}

// TestFullDisk: a full disk gets one file, not one for each record, and is tried again later.
func TestFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("there is no " + full)
	}
	var now, opened atomic.Int64
	outcomes := make(chan error, 1000)
	l, prefix := newLogger(t, Options{
		FileBytes: 1, // each record is flushed
		Retry:     time.Second,
		Logged:    func(_ string, err error) { outcomes <- err },
		now:       func() time.Time { return time.Unix(now.Load(), 0) },
		open: func(root *os.Root, path string) (*os.File, error) {
			opened.Add(1)
			if now.Load() > 0 {
				return newFile(root, path)
			}
			return os.OpenFile(full, os.O_WRONLY, 0)
		},
	})
	for range 20 {
		predict(t, l)
		if err := <-outcomes; status.Code(err) != codes.DataLoss {
			t.Errorf("got %v", err)
		}
	}
	if opened.Load() != 1 || l.Dropped() != 20 {
		t.Errorf("%d files, %d dropped", opened.Load(), l.Dropped())
	}
	now.Store(1)
	predict(t, l)
	if err := <-outcomes; err != nil {
		t.Error(err)
	}
	end(t, l)
	if files := read(t, prefix); len(files) != 1 || len(files[0]) != 1 {
		t.Errorf("got %v", files)
	}
}

// Records do not stay in memory for long.
func TestFlush(t *testing.T) {
	l, prefix := newLogger(t, Options{Flush: time.Millisecond})
	defer end(t, l)
	predict(t, l)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case <-deadline:
			t.Fatal("nothing was written")
		case <-tick.C:
		}
		if names, _ := filepath.Glob(prefix + "*"); len(names) == 1 {
			if info, err := os.Stat(names[0]); err == nil && info.Size() > 0 {
				return
			}
		}
	}
}

func TestConfigure(t *testing.T) {
	l, prefix := newLogger(t, Options{})
	for logging, want := range map[string]string{
		"log_collector_config { type: 'kafka' filename_prefix: '/x' }":                          "Cannot find LogCollector::Factory for type: kafka",
		"log_collector_config { type: 'tfrecord' }":                                             "filename_prefix",
		"log_collector_config { filename_prefix: '/x' } sampling_config { sampling_rate: 1.5 }": "sampling_rate",
		"log_collector_config { filename_prefix: '/x' } sampling_config { sampling_rate: nan }": "sampling_rate",
	} {
		if err := l.Configure(models(t, logging)); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", logging, err)
		}
	}
	predict(t, l) // the old configuration is still in force
	if err := l.Configure(models(t, "log_collector_config { filename_prefix: "+quoted(prefix)+" }")); err != nil {
		t.Error(err)
	}
	predict(t, l) // sampled at a rate of 0
	if err := l.Configure(&config.ModelServerConfig{}); err != nil {
		t.Error(err)
	}
	predict(t, l)
	end(t, l)
	if files := read(t, prefix); len(files) != 1 || len(files[0]) != 1 {
		t.Errorf("got %v", files)
	}
}

func TestManyAtOnce(t *testing.T) {
	l, prefix := newLogger(t, Options{FileBytes: 2000})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				predict(t, l)
			}
		})
	}
	all.Wait()
	end(t, l)
	records := 0
	for _, f := range read(t, prefix) {
		records += len(f)
	}
	if records != 400 {
		t.Errorf("%d records", records)
	}
}

func TestAccess(t *testing.T) {
	var buf bytes.Buffer
	a := Access{Log: slog.New(slog.NewJSONHandler(&buf, nil))}
	predict(t, a)
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{a}}
	if _, err := s.Predict(t.Context(), &apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: "no\nsuch"}}); err == nil {
		t.Error("a model that is not there answered")
	}
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	var good, bad map[string]any
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &good) != nil || json.Unmarshal([]byte(lines[1]), &bad) != nil {
		t.Fatalf("got %q", lines)
	}
	if good["msg"] != "request" || good["level"] != "INFO" || good["model"] != "m" || good["version"] != 2.0 || good["code"] != "OK" || good["entrypoint"] != "REST" || good["latency"] == nil {
		t.Errorf("got %v", good)
	}
	if bad["level"] != "WARN" || bad["code"] != "NotFound" || bad["model"] != "no\nsuch" || bad["error"] == "" {
		t.Errorf("got %v", bad)
	}
}

// TestAccessOfLongNames: clients cannot make lines arbitrarily long.
func TestAccessOfLongNames(t *testing.T) {
	var buf bytes.Buffer
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{Access{Log: slog.New(slog.NewJSONHandler(&buf, nil))}}}
	long := strings.Repeat("\u00e4", 1<<20)
	_, err := s.Predict(t.Context(), &apis.PredictRequest{ModelSpec: &apis.ModelSpec{Name: long, SignatureName: long}})
	if err == nil || buf.Len() > 5000 || !json.Valid(buf.Bytes()) {
		t.Errorf("%d bytes", buf.Len())
	}
}

// The author of a config cannot have files written outside of the server's folder.
func TestOnlyBelowTheFolder(t *testing.T) {
	written := make(chan error, 10)
	l, prefix := newLogger(t, Options{Flush: time.Millisecond, Logged: func(_ string, err error) { written <- err }})
	dir := filepath.Dir(filepath.Dir(prefix))
	configured := func(l *Logger, prefix string) error {
		return l.Configure(models(t, "log_collector_config { filename_prefix: "+quoted(prefix)+" } sampling_config { sampling_rate: 1 }"))
	}
	for _, p := range []string{"/etc/m", "../m", "a/../../m", "/", "..", dir, dir + "/", dir + "x/m", dir + "/../m", filepath.Dir(dir), "m\x00"} {
		if err := configured(l, p); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "--request-log-dir") {
			t.Errorf("%q: %v", p, err)
		}
	}
	for p, want := range map[string]string{"a": "a-*", "a/b/c": "a/b/c-*", "a/../d": "d-*", dir + "/e": "e-*", dir + "/x/../f": "f-*", "g/": "g/-*"} {
		if err := configured(l, p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		predict(t, l)
		if err := <-written; err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, want)); len(names) != 1 {
			t.Errorf("%s: %d files %s", p, len(names), want)
		}
	}
	end(t, l)
	none := New(Options{Log: slog.New(slog.DiscardHandler)})
	defer end(t, none)
	if err := configured(none, filepath.Join(t.TempDir(), "m")); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "--request-log-dir") {
		t.Errorf("without a folder: %v", err)
	}
	if err := none.Configure(&config.ModelServerConfig{}); err != nil {
		t.Error(err)
	}
}

// Nor does a link in the folder lead out of it.
func TestLinksLeadNowhere(t *testing.T) {
	lost := make(chan error, 10)
	l, prefix := newLogger(t, Options{Logged: func(_ string, err error) { lost <- err }})
	defer end(t, l)
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(prefix)), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Dir(prefix)); err != nil {
		t.Fatal(err)
	}
	predict(t, l)
	if err := <-lost; status.Code(err) != codes.DataLoss {
		t.Errorf("got %v", err)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 0 {
		t.Errorf("outside: %v, %v", names, err)
	}
}
