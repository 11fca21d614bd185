package runconfig

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the expected results of testdata anew")

// TestTFConfigGolden runs the cases of testdata/tf_config. A case is a file of
// comment lines (#), option lines (name=value), the TF_CONFIG after the line
// "-- TF_CONFIG", and the expected result after the line "-- want".
func TestTFConfigGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "tf_config", "*.txt"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d cases, want at least 40 (%v)", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, ok := strings.Cut(string(text), "-- TF_CONFIG\n")
			input, want, ok2 := strings.Cut(rest, "-- want\n")
			if !ok || !ok2 {
				t.Fatal("expected the lines -- TF_CONFIG and -- want")
			}
			got := describe(FromTFConfig(strings.TrimSuffix(input, "\n"), goldenOptions(t, head)...))
			if *rewrite {
				if err := os.WriteFile(path, []byte(head+"-- TF_CONFIG\n"+input+"-- want\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func goldenOptions(t *testing.T, head string) []Option {
	t.Helper()
	var opts []Option
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		number, _ := strconv.Atoi(value)
		switch name {
		case "strict":
			opts = append(opts, StrictTFConfig(value == "true"))
		case "model_dir":
			opts = append(opts, ModelDir(value))
		case "save_checkpoints_steps":
			opts = append(opts, SaveCheckpointsSteps(int64(number)))
		case "save_checkpoints_secs":
			opts = append(opts, SaveCheckpointsSecs(float64(number)))
		case "keep_checkpoint_max":
			opts = append(opts, KeepCheckpointMax(number))
		case "device_filters":
			opts = append(opts, Session(SessionConfig{DeviceFilters: strings.Fields(value)}))
		default:
			t.Fatalf("unknown option %q", name)
		}
	}
	return opts
}

// describe prints all derived properties, or the error.
func describe(c RunConfig, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	global := "none"
	if id, ok := c.GlobalID(); ok {
		global = strconv.Itoa(id)
	}
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	line("task", fmt.Sprintf("%s %d", c.TaskType(), c.TaskID()))
	line("is_chief", c.IsChief())
	line("cluster", c.ClusterSpec())
	line("sparse", c.ClusterSpec().Sparse())
	line("master", c.Master())
	line("evaluation_master", c.EvaluationMaster())
	line("num_ps", c.NumPS())
	line("num_workers", c.NumWorkers())
	line("global_id", global)
	line("worker_rank", c.WorkerRank())
	line("device_filters", c.DeviceFilters())
	line("model_dir", c.ModelDir())
	line("environment", c.Environment())
	line("rpc_layer", c.RPCLayer())
	line("service", c.Service())
	line("save_checkpoints", fmt.Sprintf("%d steps, %g secs", c.SaveCheckpointsSteps(), c.SaveCheckpointsSecs()))
	return b.String()
}
