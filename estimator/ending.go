package estimator

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// lastEnd is the time at which this process began or, later, ended its latest training:
// an earlier end in model_dir may belong to an earlier run.
var lastEnd atomic.Pointer[time.Time]

func init() { noteLastEnd() }

func noteLastEnd() {
	now := time.Now()
	lastEnd.Store(&now)
}

// ends returns model_dir's record of the end of a training to maxSteps, 0 for no
// limit.
func (e *Estimator) ends(maxSteps int64) *distribute.Ends {
	return &distribute.Ends{Since: *lastEnd.Load(), Look: func() (distribute.End, bool) { return e.endInModelDir(maxSteps) }}
}

func (e *Estimator) endInModelDir(maxSteps int64) (distribute.End, bool) {
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, e.modelDir)
	switch {
	case err == nil && s.Failed != nil:
		return distribute.FailedEnd(s.Failed), true
	case err != nil || s.Finished == nil:
		return distribute.End{}, false
	}
	f := s.Finished
	reached := maxSteps > 0 && f.Reason == StopMaxSteps
	if reached && f.GlobalStep < maxSteps { // maxSteps was raised since
		return distribute.End{}, false
	}
	return distribute.End{GlobalStep: f.GlobalStep, Reason: f.Reason, At: f.At, Sure: reached && e.savedStep() >= maxSteps}, true
}

// endedBefore returns the result of a training that other tasks ended before this one
// could take part; it reports false for other errors.
func endedBefore(err error) (TrainResult, bool) {
	var end *distribute.EndError
	if !errors.As(err, &end) || end.Code != ExitDone {
		return TrainResult{}, false
	}
	return TrainResult{GlobalStep: end.GlobalStep, Loss: math.NaN(), StopReason: StopOtherTask}, true
}
