package ps

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/distributed/settings"
)

// TestSettingsAreCompared: a task whose settings differ from the session's gets an
// error that names them.
func TestSettingsAreCompared(t *testing.T) {
	b := newBegun(t, Config{Servers: 2, Settings: settings.Settings{"learning_rate": "0.1", "seed": "3"}}, 1, ServerConfig{})
	c := b.Client(0, ClientConfig{})
	j := b.job
	_, err := c.WaitReady(testContext(t), j.plan(t, Config{Servers: 2, Settings: settings.Settings{"learning_rate": "0.2", "seed": "3"}}))
	var differ *settings.DifferError
	if !errors.As(err, &differ) || !errors.Is(err, ErrPlan) || len(differ.Differences) != 1 || differ.Differences[0] != (settings.Difference{Name: "learning_rate", Mine: "0.2", Theirs: "0.1"}) {
		t.Errorf("another learning rate: %v", err)
	}
	// A difference outside of the settings: the plans differ all the same.
	_, err = c.Connect(testContext(t), j.plan(t, Config{Servers: 2, Staleness: 1, Settings: settings.Settings{"learning_rate": "0.1", "seed": "3"}}))
	if !errors.Is(err, settings.ErrDiffer) || !strings.Contains(err.Error(), "plan=") {
		t.Errorf("another plan of equal settings: %v", err)
	}
	if _, err := c.WaitReady(testContext(t), b.p); err != nil {
		t.Errorf("equal settings: %v", err)
	}
}

// TestExtend: the end of training can be moved later, not earlier.
func TestExtend(t *testing.T) {
	b := newBegun(t, Config{Servers: 2}, 1, ServerConfig{})
	c := b.Client(0, ClientConfig{})
	if err := c.Extend(testContext(t), 5); !errors.Is(err, ErrNotConnected) {
		t.Errorf("without a session: %v", err)
	}
	if err := c.Create(testContext(t), b.p, State{Value: b.state().Value, Last: 100, Replace: true}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		last, then int64
		ok         bool
	}{{100, 100, true}, {99, 100, false}, {-1, 100, false}, {101, 101, true}, {0, 0, true}, {0, 0, true}, {1 << 40, 0, false}} {
		if err := c.Extend(testContext(t), x.last); (err == nil) != x.ok || errors.Is(err, ErrReset) {
			t.Errorf("to %d: %v", x.last, err)
		}
		s, err := c.Connect(testContext(t), b.p)
		if err != nil || s.Last != x.then {
			t.Errorf("after %d: training ends at %d, expected %d (%v)", x.last, s.Last, x.then, err)
		}
	}
}

// TestPlanOfManySettings: an untrusted plan cannot make every status long.
func TestPlanOfManySettings(t *testing.T) {
	p := newJob(t, "adam", nil).plan(t, Config{Servers: 1, Settings: settings.Settings{"x": strings.Repeat("y", 1<<20)}})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsePlan(text); err == nil {
		t.Error("a plan with a setting of 1 MiB was taken")
	}
}
