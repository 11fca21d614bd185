package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestInitLeavesOut: for a column that gives the label away, init names the flag that leaves it out; with the flag, the model does not get it.
func TestInitLeavesOut(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	rows.WriteString("age,boat,survived\n")
	for i := range 200 {
		fmt.Fprintf(&rows, "%d,%s,%d\n", 20+i*7%50, []string{"none", "b1", "none", "b2"}[i%4], i%2)
	}
	if err := os.WriteFile("t.csv", []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := Run(t.Context(), append([]string{"init", "t.csv", "--label", "survived", "--no-search", "--force"}, args...), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, out := run(); code != 0 || !strings.Contains(out, `If not: init --leave-out "boat"`) {
		t.Errorf("code %d, %s", code, out)
	}
	code, out := run("--leave-out", "boat")
	config, err := os.ReadFile("config.yaml")
	if err != nil || code != 0 || !strings.Contains(out, "left out boat: as asked for") || strings.Contains(out, "look at boat") {
		t.Errorf("code %d, %v, %s", code, err, out)
	}
	if strings.Contains(string(config), "key: boat") || !strings.Contains(string(config), "key: age") {
		t.Errorf("the config\n%s", config)
	}
	for arg, want := range map[string]string{"boot": `no column "boot" (did you mean boat?)`, "survived": "is the label"} {
		if code, out := run("--leave-out", arg); code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, %s", arg, code, out)
		}
	}
}
