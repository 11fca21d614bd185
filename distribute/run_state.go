package distribute

import (
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// stopClosed is the reason that model_dir records for the end of a custom loop.
const stopClosed = "closed"

// noteBegin clears model_dir's record of an earlier run's end, which an evaluator would mistake for the end of this run.
func (s *Strategy) noteBegin() error {
	dir := s.config.ModelDir()
	if dir == "" || !s.IsChief() || len(s.trainOps()) == 0 {
		return nil
	}
	state, err := checkpoint.LoadRunState(atomicfile.OS{}, dir)
	if err != nil || state.Finished == nil && state.Failed == nil {
		return err
	}
	s.ended = true
	return checkpoint.UpdateRunState(atomicfile.OS{}, dir, func(s *checkpoint.RunState) { s.Finished, s.Failed = nil, nil })
}

// notesEnd reports whether to record that training is over, for an evaluator of its checkpoints.
func (s *Strategy) notesEnd() bool {
	return (s.saver != nil || s.ended) && !s.interrupted && !s.lost
}

// noteEnd records in model_dir that training is over.
func (s *Strategy) noteEnd() error {
	if !s.notesEnd() {
		return nil
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, s.config.ModelDir(), func(state *checkpoint.RunState) {
		state.Finished = &checkpoint.Finished{GlobalStep: s.step, Reason: stopClosed, At: time.Now()}
	})
}
