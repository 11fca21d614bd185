package estimator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/internal/platform/proc"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// ownRule is a user-defined rule: gradients divided by their running mean size.
func ownRule() optimizers.Rule {
	return optimizers.NewRule("Scaled", func(u *optimizers.Update) {
		size := u.Slot("size", 1)
		next := size.Times(0.75).Add(u.Gradient().Abs().Times(0.25))
		u.Assign(size, next)
		u.Assign(u.Variable(), u.Variable().Sub(u.LearningRate().Mul(u.Gradient()).Div(next.Plus(0.5))))
	})
}

// TestOwnRuleOnStandingServers trains by a rule and a schedule for which `goestimator
// server` has no code. With one worker, the parameters are the same as in one process.
func TestOwnRuleOnStandingServers(t *testing.T) {
	program, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	const servers, steps = 2, 12
	train := func(dir, tfConfig string, s runconfig.Strategy) map[string]*tensor.Tensor {
		rc, err := runconfig.FromTFConfig(tfConfig, runconfig.ModelDir(dir), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(0),
			runconfig.TrainDistribute(s), runconfig.SessionCreationTimeoutSecs(60))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(equalModel(ownRule(), 0.1, true), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Train(t.Context(), estimator.InputFunc(equalData), estimator.MaxSteps(steps)); err != nil {
			t.Fatal(err)
		}
		return tensorsOf(t, dir)
	}
	want := train(t.TempDir(), "", runconfig.Strategy{Name: "default"})

	ports, err := freeport.Reserve(1 + servers)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	var out, log [servers]bytes.Buffer // one each, since they are written at the same time
	spec := fmt.Sprintf("chief|%s,ps|%s;%s", ports.Address(0), ports.Address(1), ports.Address(2))
	for i := range servers {
		p, err := proc.Start(proc.Command{Args: []string{program, "server", "--cluster-spec", spec, "--task-index", fmt.Sprint(i)},
			Env: append(os.Environ(), "TF_CONFIG=", "NO_COLOR=1"), Stdout: &out[i], Stderr: &log[i]})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			p.Stop(20 * time.Second)
			if t.Failed() {
				t.Logf("server %d:\n%s%s", i, out[i].String(), log[i].String())
			}
		}()
	}
	tfConfig := fmt.Sprintf(`{"cluster":{"chief":[%q],"ps":[%q,%q]},"task":{"type":"chief","index":0}}`, ports.Address(0), ports.Address(1), ports.Address(2))
	got := train(t.TempDir(), tfConfig, runconfig.Strategy{Name: "parameter_server", Sync: true, Partitioner: runconfig.Partitioner{Kind: "fixed_shards"}})
	slots := 0
	for name, x := range want {
		if strings.HasSuffix(name, "/Scaled") {
			slots++
		}
		if got[name] == nil {
			t.Fatalf("variable %s is not in the checkpoint of the servers", name)
		}
		for i := range x.Len() {
			if a, b := got[name].Float(i), x.Float(i); math.Abs(a-b) > 1e-4*(1+math.Abs(b)) {
				t.Fatalf("%s[%d]: %v with servers, %v in one process", name, i, a, b)
			}
		}
	}
	if slots != 5 {
		t.Errorf("got %d slots, expected those of 5 variables", slots)
	}
}
