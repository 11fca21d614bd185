package estimator

import (
	"strconv"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
)

// logPlacement logs where the program runs, as a warning if that is not where it was
// requested.
func (s *session) logPlacement() {
	placed, ok := s.stepper.(distribute.Placed)
	if !ok {
		return
	}
	p := placed.Placement()
	asked := s.est.config.Session().Precision
	if p.Device == device.KindHost {
		if asked == "tf32" || asked == "bf16_mixed" {
			s.est.precisionWarning.Do(func() {
				s.est.log.Warn("precision "+asked+" is a GPU's: the host computes in float32", "mode", s.program.mode)
			})
		}
		return
	}
	if s.program.mode == models.Train {
		s.est.log.Info("training on a GPU", "precision", p.Precision, "operations", p.Steps)
	}
	if n := len(p.OnHost); n > 0 {
		s.est.log.Warn(strconv.Itoa(n)+" of "+strconv.Itoa(n+p.Steps)+" operations of each step run on the host, which the GPU waits for: it has no kernel for them",
			"mode", s.program.mode, "operations", engine.CountOps(p.OnHost), "first", p.OnHost[0])
	}
}
