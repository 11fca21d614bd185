package serving

import (
	"time"

	"github.com/goestimator/goestimator/internal/serving/batching"
)

// Batching makes requests share runs of a model.
type Batching struct {
	BatchingParameters
	// PerModel batches only versions whose directory has batching_params.pbtxt, with the parameters in this file. Of BatchingParameters, only
	// the number and name of the workers count, as in TensorFlow Serving.
	PerModel bool
}

// of returns the parameters for the version in dir; ok is false if its requests do not share runs.
func (b *Batching) of(dir string) (p batching.Parameters, ok bool, err error) {
	switch {
	case b == nil:
		return p, false, nil
	case b.PerModel:
		return batching.ForModel(dir)
	}
	return b.internal(), true, nil
}

// BatchingParameters are those of TensorFlow Serving; see DefaultBatching.
type BatchingParameters struct {
	MaxBatchSize              int           // rows of a batch
	BatchTimeout              time.Duration // how long a batch that is not full waits for more
	MaxEnqueuedBatches        int           // batches that wait in a queue
	NumBatchThreads           int           // workers of the scheduler; ignored in a model's own file
	ThreadPoolName            string        // label of metrics
	AllowedBatchSizes         []int         // sizes that the model is run with, ascending; empty: any
	PadVariableLengthInputs   bool          // requests of different lengths share a batch
	EnableLargeBatchSplitting bool          // a request may go into several batches
	MaxExecutionBatchSize     int           // rows of a batch if requests are split; 0: MaxBatchSize
}

// DefaultBatching returns the defaults of TensorFlow Serving.
func DefaultBatching() BatchingParameters { return BatchingParameters(batching.Defaults()) }

func (p BatchingParameters) internal() batching.Parameters { return batching.Parameters(p) }
