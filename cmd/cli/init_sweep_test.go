package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/internal/search"
)

// TestInitSweep: whatever model init chooses, its config has a sweep with keys and values that the model accepts, and names the id columns
// that predictions may begin with.
func TestInitSweep(t *testing.T) {
	notes := []string{"a quick note", "one more short text here", "slow reply, never again", "all fine and good"}
	table := tableFile(t, "customer,a,note,y", 60, func(r int) string {
		return fmt.Sprintf("c%03d,%d,%q,%d", r, r*37%60, fmt.Sprintf("%s %d", notes[r%4], r), r*37%60/30)
	})
	p, err := tabular.Read(t.Context(), table, tabular.Options{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDraft(p, filepath.Join(t.TempDir(), "model"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []candidate{d.boosted(d.known()[0]), d.net(0.002, 0.1, 8, 4), d.linear(0.02), d.wide()} {
		t.Run(c.what, func(t *testing.T) {
			d.model = c
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(d.text()), 0o600); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.text(), `# predict: {columns: ["customer"]}`) {
				t.Errorf("expected the ids in\n%s", d.text())
			}
			cfg, err := config.Load(config.LoadOptions{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			s, err := search.New(cfg.Sweep, cfg.Train.MaxSteps)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"train", "--config", path, "--fast-dev-run"}
			for _, p := range s.Spec().Parameters {
				ends := p.Ends()
				for _, set := range (search.Trial{Values: map[string]any{p.Key: ends[len(ends)-1]}}).Sets() {
					args = append(args, "--set", set)
				}
			}
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), args, &stdout, &stderr); code != 0 {
				t.Errorf("exit code %d: %s", code, stderr.String())
			}
		})
	}
}
