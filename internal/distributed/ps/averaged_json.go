package ps

import (
	"encoding/json"
	"fmt"

	"github.com/goestimator/goestimator/internal/training/rule"
)

// averagedRule is the name of a rule that keeps averages, too.
const averagedRule = "averaged"

// averagedJSON are its parameters.
type averagedJSON struct {
	Rule      ruleJSON
	Averaging rule.Averaging
}

// averaged sets r to a rule that keeps averages.
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
