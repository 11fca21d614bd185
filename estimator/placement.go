package estimator

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/device"
	"github.com/goestimator/goestimator/models"
)

// tellPlacement says where the program runs: what is not as it was asked for is a warning.
func (s *session) tellPlacement() {
	placed, ok := s.stepper.(distribute.Placed)
	if !ok {
		return
	}
	p := placed.Placement()
	asked := s.est.config.Session().Precision
	if p.Device == device.KindHost {
		if asked == "tf32" || asked == "bf16_mixed" {
			s.est.untold.Do(func() {
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
			"mode", s.program.mode, "operations", countOps(p.OnHost), "first", p.OnHost[0])
	}
}

// countOps lists the ops of operations, which are "node (op): reason", and how often each is among them.
func countOps(operations []string) string {
	counts := map[string]int{}
	for _, o := range operations {
		_, op, _ := strings.Cut(o, " (")
		op, _, _ = strings.Cut(op, ")")
		counts[op]++
	}
	var out []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, op+" x"+strconv.Itoa(counts[op]))
	}
	return strings.Join(out, ", ")
}
