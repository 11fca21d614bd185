package ps

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/training/rule"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/models/optimizers"
)

// layerwise is a rule with norms of whole variables: LARS without momentum (You et al. 2017).
func layerwise() optimizers.Rule {
	return optimizers.NewRule("Layerwise", func(u *optimizers.Update) {
		w, g, total := u.Variable(), u.Gradient(), u.Slot("total", 0.5)
		trust := w.Norm().Div(g.Norm().Plus(1e-3))
		u.Assign(total, total.Add(g.Square()))
		u.Assign(w, w.Sub(u.LearningRate().Mul(trust).Mul(g).Div(total.Sqrt())))
	})
}

// slowing is a user-defined schedule.
type slowing float64

func (s slowing) At(step expr.Expr) expr.Expr {
	return expr.Number(float64(s)).Div(step.Plus(1).Sqrt())
}

// TestOwnRuleSameAsOneProcess: variables are not partitioned if the rule needs the whole variable.
func TestOwnRuleSameAsOneProcess(t *testing.T) {
	l := newLocal(t, 2, 1, ServerConfig{})
	j := newJob(t, "sgd", nil)
	j.train.Groups[0].Rule, j.train.Groups[0].LearningRate = layerwise(), optimizers.Warmup{Steps: 2, Then: slowing(0.25)}
	checkSame(t, l.Client(0, ClientConfig{}), j)
	for _, v := range j.plan(t, Config{Servers: 2, Partitioner: FixedShards(3)}).Variables {
		if v.Group >= 0 && v.Parts != 1 {
			t.Errorf("%s has %d parts", v.Name, v.Parts)
		}
	}
}

func TestOwnRuleTravels(t *testing.T) {
	text, err := json.Marshal(ruleJSON{layerwise()})
	if err != nil {
		t.Fatal(err)
	}
	var got ruleJSON
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got.Rule, layerwise()) {
		t.Errorf("%s: %#v, %v", text, got.Rule, err)
	}
	text, err = json.Marshal(scheduleJSON{slowing(2)})
	if err != nil {
		t.Fatal(err)
	}
	var s scheduleJSON
	if err := json.Unmarshal(text, &s); err != nil || optimizers.RateAt(s, 3) != 1 {
		t.Errorf("%s: %v", text, err)
	}
	again, err := json.Marshal(s)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s, then %s: %v", text, again, err)
	}
}

// TestRefusedRules: a server accepts only programs of known ops, and only short ones.
func TestRefusedRules(t *testing.T) {
	own := layerwise().(rule.Custom)
	with := func(f func(r *rule.Custom)) rule.Custom {
		r := own
		r.Next.Instructions = append([]expr.Instruction(nil), own.Next.Instructions...)
		f(&r)
		return r
	}
	for want, r := range map[string]rule.Custom{
		`unknown op "ReadFile"`:     with(func(r *rule.Custom) { r.Next.Instructions[3].Op = "ReadFile" }),
		"does not come before":      with(func(r *rule.Custom) { r.Next.Instructions[2].Args = []int{9} }),
		"next values":               with(func(r *rule.Custom) { r.Next.Results = r.Next.Results[:1] }),
		"expected at most 512":      with(func(r *rule.Custom) { r.Next.Instructions = make([]expr.Instruction, 600) }),
		"name of at most 64":        with(func(r *rule.Custom) { r.Label = "../w" }),
		"slots: expected at most":   with(func(r *rule.Custom) { r.States = make([]rule.CustomSlot, 40) }),
		`unknown input "other/var"`: with(func(r *rule.Custom) { r.Next.Instructions[0] = expr.Instruction{Op: "Input", Name: "other/var"} }),
	} {
		rules := Rules{Groups: []Rule{{Rule: ruleJSON{r}, LearningRate: scheduleJSON{optimizers.Constant(1)}}}}
		if err := rules.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	for _, text := range []string{`{"name":"formula","parameters":{}}`, `{"name":"formula","parameters":{"instructions":[{"op":"Input","name":"x"}],"results":[0]}}`,
		`{"name":"formula","parameters":{"instructions":[{"op":"Neg","args":[0]}],"results":[0]}}`} {
		if json.Unmarshal([]byte(text), &scheduleJSON{}) == nil {
			t.Errorf("%s: expected an error", text)
		}
	}
	p := newJob(t, "sgd", nil)
	p.train.Groups[0].Rule = own
	plan := p.plan(t, Config{Servers: 2})
	plan.Variables[0].Parts = 2
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsePlan(text); err == nil || !strings.Contains(err.Error(), "takes a norm of the whole") {
		t.Errorf("a cut variable: got %v", err)
	}
}
