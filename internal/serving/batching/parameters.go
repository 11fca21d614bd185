package batching

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/internal/format/pbtext"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	pb "github.com/wamuir/graft/tensorflow/serving/servables/tensorflow_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ParametersFile is the name of a model's own parameters, in its version directory.
const ParametersFile = "batching_params.pbtxt"

// Parameters are TensorFlow Serving's BatchingParameters.
type Parameters struct {
	MaxBatchSize              int           // rows of a batch
	BatchTimeout              time.Duration // how long a batch that is not full waits for more
	MaxEnqueuedBatches        int           // batches that wait in a queue
	NumBatchThreads           int           // workers of the scheduler; ignored in a model's own file
	ThreadPoolName            string        // label of metrics
	AllowedBatchSizes         []int         // sizes that the model is run with, ascending; empty: any
	PadVariableLengthInputs   bool          // requests of different lengths share a batch
	EnableLargeBatchSplitting bool          // a request may go into several batches
	MaxExecutionBatchSize     int           // rows of a batch where requests are split; 0: MaxBatchSize
}

// Defaults returns TensorFlow Serving's defaults.
func Defaults() Parameters {
	return Parameters{MaxBatchSize: 1000, MaxEnqueuedBatches: 10, NumBatchThreads: runtime.NumCPU(), ThreadPoolName: "batch_threads"}
}

// Parse reads a BatchingParameters message in text form and checks it.
func Parse(text []byte) (Parameters, error) {
	var m pb.BatchingParameters
	if err := pbtext.Unmarshal(text, &m); err != nil {
		return Parameters{}, fmt.Errorf("batching parameters: %w", err)
	}
	p := Defaults()
	for _, f := range []struct {
		to   *int
		from *wrapperspb.Int64Value
	}{
		{&p.MaxBatchSize, m.MaxBatchSize}, {&p.MaxEnqueuedBatches, m.MaxEnqueuedBatches},
		{&p.NumBatchThreads, m.NumBatchThreads}, {&p.MaxExecutionBatchSize, m.MaxExecutionBatchSize},
	} {
		if f.from != nil {
			*f.to = int(f.from.Value)
		}
	}
	if us := m.BatchTimeoutMicros.GetValue(); us > math.MaxInt64/int64(time.Microsecond) {
		p.BatchTimeout = math.MaxInt64
	} else {
		p.BatchTimeout = time.Duration(us) * time.Microsecond
	}
	for _, n := range m.AllowedBatchSizes {
		p.AllowedBatchSizes = append(p.AllowedBatchSizes, int(n))
	}
	if m.ThreadPoolName != nil {
		p.ThreadPoolName = m.ThreadPoolName.Value
	}
	p.PadVariableLengthInputs = m.PadVariableLengthInputs
	p.EnableLargeBatchSplitting = m.EnableLargeBatchSplitting.GetValue()
	if p.EnableLargeBatchSplitting && m.MaxExecutionBatchSize == nil {
		p.MaxExecutionBatchSize = p.MaxBatchSize
	}
	return p, p.Validate()
}

// ReadFile reads parameters from a file.
func ReadFile(path string) (Parameters, error) {
	text, err := atomicfile.ReadSmall(path)
	return parametersOf(path, text, err)
}

func parametersOf(path string, text []byte, err error) (Parameters, error) {
	if err != nil {
		return Parameters{}, fmt.Errorf("batching parameters: %w", err)
	}
	p, err := Parse(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ForModel reads the parameters in a version directory; ok is false if there are none.
func ForModel(dir string) (p Parameters, ok bool, err error) {
	path := filepath.Join(dir, ParametersFile)
	text, err := atomicfile.ReadFile(atomicfile.OS{}, path) // no pipe or device
	p, err = parametersOf(path, text, err)
	if errors.Is(err, fs.ErrNotExist) {
		return Parameters{}, false, nil
	}
	return p, err == nil, err
}

// BatchRows is the largest number of rows of a batch.
func (p Parameters) BatchRows() int {
	if p.EnableLargeBatchSplitting && p.MaxExecutionBatchSize > 0 {
		return p.MaxExecutionBatchSize
	}
	return p.MaxBatchSize
}

// Validate checks p. The errors are InvalidArgument with TensorFlow Serving's texts.
func (p Parameters) Validate() error {
	switch {
	case p.MaxBatchSize < 1:
		return invalid("max_batch_size must be positive; was %d", p.MaxBatchSize)
	case p.BatchTimeout < 0:
		return invalid("batch_timeout_micros must be non-negative; was %d", p.BatchTimeout.Microseconds())
	case p.MaxEnqueuedBatches < 0:
		return invalid("max_enqueued_batches must be non-negative; was %d", p.MaxEnqueuedBatches)
	case p.NumBatchThreads < 1:
		return invalid("num_batch_threads must be positive; was %d", p.NumBatchThreads)
	case p.EnableLargeBatchSplitting && p.MaxExecutionBatchSize < 0:
		return invalid("max_execution_batch_size must be positive; was %d", p.MaxExecutionBatchSize)
	case p.EnableLargeBatchSplitting && p.MaxBatchSize < p.MaxExecutionBatchSize:
		return invalid("When enable_large_batch_splitting is true, max_batch_size must be greater than or equal to max_execution_batch_size; "+
			"max_batch_size was %d, max_execution_batch_size was %d", p.MaxBatchSize, p.MaxExecutionBatchSize)
	}
	return p.validateSizes()
}

func (p Parameters) validateSizes() error {
	if len(p.AllowedBatchSizes) == 0 {
		return nil
	}
	before := 0
	for _, n := range p.AllowedBatchSizes {
		if n <= before {
			return invalid("allowed_batch_sizes entries must be monotonically increasing")
		}
		before = n
	}
	switch {
	case before == p.BatchRows():
		return nil
	case !p.EnableLargeBatchSplitting:
		return invalid("Last entry in allowed_batch_sizes must match max_batch_size; last entry was %d; expected %d", before, p.MaxBatchSize)
	case before > p.MaxBatchSize:
		return invalid("Last entry in allowed_batch_sizes must be less than or equal to max_batch_size; last entry was %d; expected %d", before, p.MaxBatchSize)
	}
	return invalid("Last entry in allowed_batch_sizes must be equal to max_execution_batch_size; last entry was %d; expected %d", before, p.BatchRows())
}

// allowed returns the size at which a batch of that many rows runs.
func (p Parameters) allowed(rows int) int {
	for _, n := range p.AllowedBatchSizes {
		if n >= rows {
			return n
		}
	}
	return rows
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
