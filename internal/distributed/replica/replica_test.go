package replica

import "testing"

var cluster = map[string][]string{
	"worker": {"j-worker-0.ns.svc:2222", "j-worker-1.ns.svc:2222"}, "ps": {"j-ps-0.ns.svc:2222"}, "evaluator": {"j-evaluator-0.ns.svc:2222"},
}

func TestTFConfig(t *testing.T) {
	const jobs = `{"cluster":{"evaluator":["j-evaluator-0.ns.svc:2222"],"ps":["j-ps-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222","j-worker-1.ns.svc:2222"]},`
	for task, want := range map[Task]string{
		{Worker, 1}:    jobs + `"task":{"type":"worker","index":1},"environment":"cloud"}`,
		{Evaluator, 0}: jobs + `"task":{"type":"evaluator","index":0},"environment":"cloud"}`,
	} {
		if got := TFConfig(cluster, task); got != want {
			t.Errorf("%v:\n got %s\nwant %s", task, got, want)
		}
	}
	if got := TFConfig(map[string][]string{"worker": {"a:1"}}, Task{Worker, 0}); got != "" {
		t.Errorf("single task: got %s, want none", got)
	}
}

func TestSparseTFConfig(t *testing.T) {
	for task, want := range map[Task]string{
		{Worker, 1}:    `{"cluster":{"worker":{"1":"j-worker-1.ns.svc:2222"},"ps":["j-ps-0.ns.svc:2222"]},"task":{"type":"worker","index":1}}`,
		{PS, 0}:        `{"cluster":{"worker":{},"ps":["j-ps-0.ns.svc:2222"]},"task":{"type":"ps","index":0}}`,
		{Evaluator, 0}: `{"cluster":{"worker":{},"ps":[]},"task":{"type":"evaluator","index":0}}`,
	} {
		if got := SparseTFConfig(cluster, task); got != want {
			t.Errorf("%v:\n got %s\nwant %s", task, got, want)
		}
	}
	want := `{"cluster":{"worker":{"0":"a:1"},"ps":null},"task":{"type":"worker","index":0}}`
	if got := SparseTFConfig(map[string][]string{"worker": {"a:1"}}, Task{Worker, 0}); got != want {
		t.Errorf("no ps:\n got %s\nwant %s", got, want)
	}
}

func TestRestarts(t *testing.T) {
	codes := []int{0, 1, 127, 128, 137, 138, 143}
	for policy, want := range map[RestartPolicy][]bool{
		Always:    {true, true, true, true, true, true, true},
		OnFailure: {false, true, true, true, true, true, true},
		Never:     {false, false, false, false, false, false, false},
		ExitCode:  {false, false, false, true, true, true, true},
	} {
		for i, code := range codes {
			if got := policy.Restarts(code); got != want[i] {
				t.Errorf("%s, exit %d: got %v, want %v", policy, code, got, want[i])
			}
		}
	}
}

func TestParseRestartPolicy(t *testing.T) {
	for name, want := range policies {
		if got, err := ParseRestartPolicy(name); err != nil || got != want {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := ParseRestartPolicy("sometimes"); err == nil {
		t.Error("an unknown policy was taken")
	}
}
