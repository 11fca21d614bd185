package warmup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/wire"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// File is the path of the records in a model's directory.
const File = "assets.extra/tf_serving_warmup_requests"

// MaxRecords is how many records a file may have.
const MaxRecords = 1000

// Encode returns the content of a file with the records.
func Encode(logs ...*apis.PredictionLog) ([]byte, error) {
	if len(logs) > MaxRecords {
		return nil, fmt.Errorf("%d warm-up records: expected at most %d", len(logs), MaxRecords)
	}
	var file []byte
	for i, l := range logs {
		if request(l) == nil {
			return nil, fmt.Errorf("warm-up record %d is a %T: expected a log of predict, classify, regress or multi-inference", i, l.GetLogType())
		}
		b, err := proto.Marshal(l)
		if err != nil {
			return nil, fmt.Errorf("warm-up record %d: %w", i, err)
		}
		file = tfrecord.Append(file, b)
	}
	return file, nil
}

// request is the request that a record replays, or nil.
func request(l *apis.PredictionLog) proto.Message {
	switch t := l.GetLogType().(type) {
	case *apis.PredictionLog_PredictLog:
		return t.PredictLog.GetRequest()
	case *apis.PredictionLog_ClassifyLog:
		return t.ClassifyLog.GetRequest()
	case *apis.PredictionLog_RegressLog:
		return t.RegressLog.GetRequest()
	case *apis.PredictionLog_MultiInferenceLog:
		return t.MultiInferenceLog.GetRequest()
	}
	return nil
}

// Options say how records are replayed.
type Options struct {
	Iterations int            // of each record; at least one
	Memory     *budget.Server // pays for records, as for requests; nil: not counted
}

// Run replays the records in dir on m. It ignores the model and version that a record asks for, and uses only
// its signature. A model without records is warm. Errors carry a gRPC status and TensorFlow Serving's texts; the
// model is then not fit to serve.
func Run(ctx context.Context, m servable.Model, id servable.ID, dir string, o Options) error {
	path := filepath.Join(dir, filepath.FromSlash(File))
	r, end, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return status.Errorf(codes.Internal, "warm-up: %v", err)
	}
	defer end()
	return replayAll(ctx, &inference.Service{Models: only{id, m}}, file{r, path, id.Name, o})
}

// open opens a regular file for reading until end is called.
func open(path string) (r io.Reader, end func(), err error) {
	f, err := atomicfile.OS{}.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = f.Close() } // only read
	size, err := f.Size()
	if err != nil {
		end()
		return nil, nil, err
	}
	return bufio.NewReader(io.NewSectionReader(f, 0, size)), end, nil
}

// file is a stream of records with its path, the name of its model, and the options of the replay.
type file struct {
	io.Reader
	path, model string
	Options
}

func replayAll(ctx context.Context, s *inference.Service, f file) error {
	r := tfrecord.NewReader(f)
	for n := 0; ; n++ {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return status.Errorf(codes.DataLoss, "%s: %v. Please verify your warmup data is in TFRecord format.", f.path, err)
		}
		if n == MaxRecords {
			return status.Errorf(codes.InvalidArgument, "Number of warmup records exceeds the maximum (%d) at %s", MaxRecords, f.path)
		}
		if err := f.replay(ctx, s, record); err == errUnreadable {
			return status.Errorf(codes.InvalidArgument, "Failed to parse warmup record: number %d from %s", n, f.path)
		} else if err != nil {
			st := statustext.Convert(err)
			return status.Errorf(st.Code(), "warm-up record %d of %s: %s", n, f.path, st.Message())
		}
	}
}

var errUnreadable = errors.New("not a PredictionLog")

// replay answers the request of a record. It may use as much memory as a request of the same size.
func (f file) replay(ctx context.Context, s *inference.Service, record []byte) error {
	l := &apis.PredictionLog{}
	cost := wire.Cost(mem.BufferSlice{mem.SliceBuffer(record)}, l)
	for range max(f.Iterations, 1) {
		a := f.Memory.Open()
		a.Received(len(record))
		err := a.Reserve(len(record) + cost)
		if err == nil && proto.Unmarshal(record, l) != nil {
			err = errUnreadable
		}
		if err == nil {
			err = replay(budget.With(ctx, a), s, f.model, l)
		}
		a.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func replay(ctx context.Context, s *inference.Service, name string, l *apis.PredictionLog) (err error) {
	spec := func(recorded *apis.ModelSpec) *apis.ModelSpec {
		return &apis.ModelSpec{Name: name, SignatureName: recorded.GetSignatureName()}
	}
	switch t := l.GetLogType().(type) {
	case *apis.PredictionLog_PredictLog:
		r := t.PredictLog.GetRequest()
		_, err = s.Predict(ctx, &apis.PredictRequest{ModelSpec: spec(r.GetModelSpec()), Inputs: r.GetInputs(), OutputFilter: r.GetOutputFilter()})
	case *apis.PredictionLog_ClassifyLog:
		r := t.ClassifyLog.GetRequest()
		_, err = s.Classify(ctx, &apis.ClassificationRequest{ModelSpec: spec(r.GetModelSpec()), Input: r.GetInput()})
	case *apis.PredictionLog_RegressLog:
		r := t.RegressLog.GetRequest()
		_, err = s.Regress(ctx, &apis.RegressionRequest{ModelSpec: spec(r.GetModelSpec()), Input: r.GetInput()})
	case *apis.PredictionLog_MultiInferenceLog:
		_, err = s.MultiInference(ctx, t.MultiInferenceLog.GetRequest())
	case *apis.PredictionLog_SessionRunLog:
		err = unsupported(5)
	case *apis.PredictionLog_PredictStreamedLog:
		err = unsupported(7)
	}
	return err
}

// unsupported names a kind of record by its number in PredictionLog.
func unsupported(field int) error {
	return status.Errorf(codes.Unimplemented, "Unsupported log_type for warmup: %d", field)
}

// only is a Source that always returns its one model, and the handle to it.
type only struct {
	id    servable.ID
	model servable.Model
}

// Acquire implements servable.Source.
func (o only) Acquire(string, servable.Version) (servable.Handle, error) { return o, nil }

// ID implements servable.Handle.
func (o only) ID() servable.ID { return o.id }

// Model implements servable.Handle.
func (o only) Model() servable.Model { return o.model }

// Release implements servable.Handle; the caller of Run owns the model.
func (o only) Release() {}
