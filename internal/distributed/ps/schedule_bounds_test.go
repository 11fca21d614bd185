package ps

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/optimizers"
)

// TestSchedulesAreBounded: schedules that would exhaust the server's time or stack are refused.
func TestSchedulesAreBounded(t *testing.T) {
	nested := `{"name":"constant","parameters":1}`
	for range 60 {
		nested = `{"name":"` + warmup + `","parameters":5,"then":` + nested + `}`
	}
	var s scheduleJSON
	if err := json.Unmarshal([]byte(nested), &s); !errors.Is(err, errNestedWarmup) {
		t.Errorf("nested warm-ups: got %v", err)
	}
	if _, err := json.Marshal(scheduleJSON{optimizers.Warmup{Steps: 1, Then: optimizers.Warmup{Steps: 1, Then: optimizers.Constant(1)}}}); err == nil {
		t.Error("nested warm-ups to send: expected an error")
	}
	for n, ok := range map[int]bool{maxBoundaries: true, maxBoundaries + 1: false} {
		p := optimizers.PiecewiseConstant{Boundaries: make([]int64, n), Values: make([]float64, n+1)}
		for i := range p.Boundaries {
			p.Boundaries[i] = int64(i)
		}
		for _, s := range []optimizers.Schedule{p, optimizers.Warmup{Steps: 3, Then: p}} {
			rules := Rules{Groups: []Rule{{Rule: ruleJSON{rule.SGD{}}, LearningRate: scheduleJSON{s}}}}
			if err := rules.check(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "boundaries") {
				t.Errorf("%d boundaries: got %v", n, err)
			}
		}
	}
}
