package cluster

import "testing"

func TestParseTask(t *testing.T) {
	for _, task := range []Task{{"chief", 0}, {"worker", 12}} {
		if got, err := ParseTask(task.String()); err != nil || got != task {
			t.Errorf("%v: got %v, %v", task, got, err)
		}
	}
	for _, s := range []string{"", "worker:0", "/job:/task:0", "/job:worker/task:-1", "/job:worker/task:01", "/job:worker", "job:worker/task:1"} {
		if got, err := ParseTask(s); err == nil {
			t.Errorf("%q was read as %v", s, got)
		}
	}
}
