package puppet_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit/puppet"
)

func TestMain(m *testing.M) {
	puppet.Main()
	os.Exit(m.Run())
}

func TestSteps(t *testing.T) {
	args := puppet.Command("worker-1=say:one+exit:3", "worker=say:any+once:138", "*=env:X")
	dir := t.TempDir()
	for _, c := range []struct {
		task string
		want string
	}{
		{`{"task":{"type":"worker","index":1}}`, "one\nexit status 3"},
		{`{"task":{"type":"worker","index":0}}`, "any\nexit status 138"},
		{`{"task":{"type":"worker","index":0}}`, "any\n<nil>"},
		{"", "X=y\n<nil>"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(puppet.Env(dir), "X=y", "TF_CONFIG="+c.task)
		out, err := cmd.Output()
		if got := fmt.Sprintf("%s%v", out, err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.task, got, c.want)
		}
	}
}

func Example() {
	fmt.Println(puppet.Command("chief=say:hello+exit:0", "ps=term:0")[1:])
	// Output: [chief=say:hello+exit:0 ps=term:0]
}
