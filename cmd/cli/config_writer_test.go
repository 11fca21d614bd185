package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// TestConfigIsTheChiefs: the config beside the checkpoints is the chief's. A worker's may name files of its own, and would replace it.
func TestConfigIsTheChiefs(t *testing.T) {
	for task, writes := range map[string]bool{"": true, "chief": true, "worker": false} {
		dir, cluster := t.TempDir(), ""
		if task != "" {
			cluster = fmt.Sprintf(`{"cluster":{"chief":["a:1"],"worker":["b:1"]},"task":{"type":%q,"index":0}}`, task)
		}
		cfg, err := config.Load(config.LoadOptions{Path: textFile(t, "c.yaml", "model: {name: dnn_classifier}\n"), Env: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		rc, err := runconfig.FromTFConfig(cluster, runconfig.ModelDir(dir))
		if err != nil {
			t.Fatal(err)
		}
		none := func(*estimator.ModelContext, models.Features, models.Labels) (*estimator.Spec, error) {
			return nil, nil
		}
		est, err := estimator.New(estimator.ModelFunc(none), estimator.WithRunConfig(rc))
		if err != nil {
			t.Fatal(err)
		}
		if err := (configWriter{job: &job{cfg: cfg, est: est}}).AfterCreateSession(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "config.yaml")); errors.Is(err, fs.ErrNotExist) == writes {
			t.Errorf("task %q: %v, expected that it writes the config: %v", task, err, writes)
		}
	}
}
