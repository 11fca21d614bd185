package ps

import (
	"encoding/json"
	"fmt"

	"github.com/goestimator/goestimator/internal/training/rule"
)

// averagedRule is the name of a rule that also keeps averages.
const averagedRule = "averaged"

// averagedJSON has the parameters of that rule.
type averagedJSON struct {
	Rule      ruleJSON
	Averaging rule.Averaging
}

// averaged sets r to a rule that also keeps averages.
func (r *ruleJSON) averaged(n named) error {
	var p averagedJSON
	if err := json.Unmarshal(n.Parameters, &p); err != nil {
		return fmt.Errorf("rule %s: %w", averagedRule, err)
	}
	inner, ok := p.Rule.Rule.(rule.Rule)
	if _, nested := inner.(rule.Averaged); !ok || nested {
		return fmt.Errorf("rule %s: expected a rule in it that keeps no averages itself", averagedRule)
	}
	r.Rule = rule.Averaged{Rule: inner, Averaging: p.Averaging}
	return nil
}
