package runconfig

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const workerOfTwo = `{"cluster":{"chief":["c:1"],"ps":["p:1"],"worker":["w:1"]},"task":{"type":"worker","index":0},"service":{"a":"b"}}`

func mustTFConfig(t *testing.T, text string, opts ...Option) RunConfig {
	t.Helper()
	c, err := FromTFConfig(text, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Setenv("TF_CONFIG", "")
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	_, seeded := c.TFRandomSeed()
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"model_dir", c.ModelDir(), ""},
		{"tf_random_seed", seeded, false},
		{"save_summary_steps", c.SaveSummarySteps(), 100},
		{"save_checkpoints_steps", c.SaveCheckpointsSteps(), int64(0)},
		{"save_checkpoints_secs", c.SaveCheckpointsSecs(), 600.0},
		{"keep_checkpoint_max", c.KeepCheckpointMax(), 5},
		{"keep_checkpoint_every_n_hours", c.KeepCheckpointEveryNHours(), 10000.0},
		{"log_step_count_steps", c.LogStepCountSteps(), 100},
		{"train_distribute", c.TrainDistribute().Name, "default"},
		{"eval_distribute", c.EvalDistribute().Name, "default"},
		{"device_fn", c.DeviceFn() == nil, true},
		{"protocol", c.Protocol(), "grpc"},
		{"experimental_max_worker_delay_secs", c.ExperimentalMaxWorkerDelaySecs(), 60},
		{"session_creation_timeout_secs", c.SessionCreationTimeoutSecs(), 7200},
		{"checkpoint_save_graph_def", c.CheckpointSaveGraphDef(), true},
		{"precision", c.Session().Precision, "float32"},
		{"strict_tf_config", c.StrictTFConfig(), false},
	} {
		if x.got != x.want {
			t.Errorf("%s: got %v, want %v", x.name, x.got, x.want)
		}
	}
}

func TestNewReadsTheEnvironment(t *testing.T) {
	t.Setenv("TF_CONFIG", workerOfTwo)
	c, err := New()
	if err != nil || c.TaskType() != Worker || c.NumWorkers() != 2 {
		t.Errorf("got %s of %d, %v", c.TaskType(), c.NumWorkers(), err)
	}
}

func TestWithCopies(t *testing.T) {
	first := mustTFConfig(t, workerOfTwo, ModelDir("/m"), SaveCheckpointsSteps(10), TFRandomSeed(0))
	second, err := first.With(SaveCheckpointsSecs(5), KeepCheckpointMax(0), LogStepCountSteps(0))
	if err != nil {
		t.Fatal(err)
	}
	if first.SaveCheckpointsSteps() != 10 || first.SaveCheckpointsSecs() != 0 || first.KeepCheckpointMax() != 5 {
		t.Error("the first one changed")
	}
	if second.SaveCheckpointsSteps() != 0 || second.SaveCheckpointsSecs() != 5 || second.KeepCheckpointMax() != 0 {
		t.Errorf("second: %d steps, %g secs", second.SaveCheckpointsSteps(), second.SaveCheckpointsSecs())
	}
	if second.ModelDir() != "/m" || second.WorkerRank() != 1 || !second.ClusterSpec().Equal(first.ClusterSpec()) {
		t.Error("the second one lost fields")
	}
	if seed, ok := second.TFRandomSeed(); seed != 0 || !ok {
		t.Errorf("seed %d, %t", seed, ok)
	}
}

func TestWhatAccessorsReturnIsACopy(t *testing.T) {
	c := mustTFConfig(t, workerOfTwo)
	filters := c.DeviceFilters()
	c.DeviceFilters()[0] = "changed"
	c.Service()["a"] = "changed"
	c.ClusterSpec().Addresses(PS)[0] = "changed"
	c.ClusterSpec().Tasks(PS)[0] = 9
	if got := c.DeviceFilters(); !slices.Equal(got, filters) {
		t.Errorf("filters %v", got)
	}
	if c.Service()["a"] != "b" {
		t.Error("service changed")
	}
	if a, ok := c.ClusterSpec().Address(PS, 0); a != "p:1" || !ok {
		t.Error("cluster changed")
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  Option
		want string
	}{
		{"model_dir", ModelDir(""), `model_dir: got "", model_dir should be non-empty`},
		{"summary", SaveSummarySteps(-1), "save_summary_steps: got -1, expected >= 0"},
		{"steps", SaveCheckpointsSteps(-1), "save_checkpoints_steps: got -1, expected >= 0"},
		{"secs", SaveCheckpointsSecs(-0.5), "save_checkpoints_secs: got -0.5, expected >= 0"},
		{"max", KeepCheckpointMax(-1), "keep_checkpoint_max: got -1, expected >= 0"},
		{"hours", KeepCheckpointEveryNHours(0), "keep_checkpoint_every_n_hours: got 0, expected > 0"},
		{"log", LogStepCountSteps(-1), "log_step_count_steps: got -1, expected > 0, or 0 for none"},
		{"train strategy", TrainDistribute(Strategy{Name: "mirrord"}), `train_distribute.name: got "mirrord", expected one of default,`},
		{"eval strategy", EvalDistribute(Strategy{}), `eval_distribute.name: got "", expected one of default,`},
		{"eval on servers", EvalDistribute(Strategy{Name: "parameter_server"}), `eval_distribute.name: got "parameter_server", expected a strategy of one process: beside parameter servers an evaluator task evaluates`},
		{"eval in lock step", EvalDistribute(Strategy{Name: "multi_worker_mirrored"}), `eval_distribute.name: got "multi_worker_mirrored", which evaluates on the workers that train: expected train_distribute.name multi_worker_mirrored`},
		{"two evals", func(s *settings) {
			TrainDistribute(Strategy{Name: "multi_worker_mirrored", DistributedEval: true})(s)
			EvalDistribute(Strategy{Name: "mirrored"})(s)
		}, `eval_distribute.name: got "mirrored", expected multi_worker_mirrored, or none, as train_distribute.distributed_eval is true`},
		{"protocol", Protocol("grpc+verbs"), `protocol: got "grpc+verbs", expected grpc or nothing`},
		{"delay", ExperimentalMaxWorkerDelaySecs(-1), "experimental_max_worker_delay_secs: got -1, expected >= 0"},
		{"timeout", SessionCreationTimeoutSecs(0), "session_creation_timeout_secs: got 0, expected > 0"},
		{"precision", Session(SessionConfig{Precision: "fp8"}), `precision: got "fp8", expected one of float32, float64, tf32, bf16_mixed`},
		{"device function", DeviceFn(func(op Op) string { return "/cpu:0 for " + op.Type }), `device_fn: got "a function", expected none`},
		{"device filters", Session(SessionConfig{DeviceFilters: []string{"/job:ps"}}), "device_filters: got [/job:ps], expected none: nothing heeds filters yet"},
		{"threads", Session(SessionConfig{IntraOpThreads: -1}), "intra_op_threads: got -1, expected >= 0"},
		{"pieces at once", Session(SessionConfig{InterOpThreads: -1}), "inter_op_threads: got -1, expected >= 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromTFConfig("", c.opt)
			var v *ViolationsError
			if !errors.As(err, &v) || len(v.Violations) != 1 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestBothIntervalsInTwoCalls(t *testing.T) {
	c := mustTFConfig(t, "", SaveCheckpointsSteps(5))
	if _, err := c.With(SaveCheckpointsSteps(5), SaveCheckpointsSecs(5)); err == nil {
		t.Error("both in one call: got no error")
	}
	if c, err := c.With(KeepCheckpointMax(1)); err != nil || c.SaveCheckpointsSteps() != 5 {
		t.Errorf("neither: %v", err)
	}
}

func TestNewClusterSpec(t *testing.T) {
	spec := NewClusterSpec(map[string][]string{"worker": {"a:1", "b:1"}, "ps": {}})
	if spec.String() != "worker|0=a:1;1=b:1" || spec.Len() != 2 || spec.Sparse() || !slices.Equal(spec.Jobs(), []string{"worker"}) {
		t.Errorf("got %v", spec)
	}
	if (ClusterSpec{}).Len() != 0 || (ClusterSpec{}).String() != "" {
		t.Error("the zero value is not empty")
	}
}

// The default start delay is tf.estimator's, except for a cluster on one machine.
func TestWorkerDelay(t *testing.T) {
	far := `{"cluster":{"chief":["127.0.0.1:1"],"ps":["b:1"],"worker":["127.0.0.1:2"]},"task":{"type":"worker","index":0}}`
	near := `{"cluster":{"chief":["127.0.0.1:1"],"ps":["[::1]:1"],"worker":["localhost:2"]},"task":{"type":"worker","index":0}}`
	for _, c := range []struct {
		name, text, set string
		want            int
	}{
		{"no cluster", "", "", 60},
		{"several machines", far, "", 60},
		{"one machine", near, "", 0},
		{"several machines, given", far, "5", 5},
		{"one machine, given", near, "5", 5},
		{"one machine, the default given", near, "60", 60},
		{"one machine, as it is written to config.yaml", near, "-1", 0},
		{"none, given", far, "0", 0},
	} {
		var opts []Option
		spec := DefaultSpec()
		n, err := strconv.Atoi(c.set)
		if err == nil {
			spec.ExperimentalMaxWorkerDelaySecs = n
		}
		loaded, specErr := FromSpec(spec, c.text)
		if specErr != nil || loaded.ExperimentalMaxWorkerDelaySecs() != c.want {
			t.Errorf("%s: from a spec: got %d, %v, want %d", c.name, loaded.ExperimentalMaxWorkerDelaySecs(), specErr, c.want)
		}
		if err == nil && n >= 0 {
			opts = append(opts, ExperimentalMaxWorkerDelaySecs(n))
		}
		if made := mustTFConfig(t, c.text, opts...); made.ExperimentalMaxWorkerDelaySecs() != c.want {
			t.Errorf("%s: from options: got %d, want %d", c.name, made.ExperimentalMaxWorkerDelaySecs(), c.want)
		}
	}
	spec := DefaultSpec()
	spec.ExperimentalMaxWorkerDelaySecs = -2
	if _, err := FromSpec(spec, ""); err == nil {
		t.Error("-2 was taken")
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.3.2.1": true, "::1": true, "0.0.0.0": false, "": false, "10.0.0.1": false, "localhost.example": false} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}

// TestDistributedEval: the strategy of training also evaluates if it has distributed_eval, even after another one replaces it.
func TestDistributedEval(t *testing.T) {
	together := Strategy{Name: "multi_worker_mirrored", DistributedEval: true}
	rc, err := FromTFConfig("", TrainDistribute(together))
	if err != nil {
		t.Fatal(err)
	}
	if got := rc.EvalDistribute(); got.Name != together.Name || !got.DistributedEval {
		t.Errorf("got %+v, expected %+v", got, together)
	}
	rc, err = rc.With(TrainDistribute(Strategy{Name: "mirrored"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := rc.EvalDistribute().Name; got != "default" {
		t.Errorf("got %s, expected default", got)
	}
}
