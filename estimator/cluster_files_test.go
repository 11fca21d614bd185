package estimator_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// TestClusterOtherFiles: a worker whose input has other files than the chief's logs a warning and trains on. The same files in another
// folder are fine.
func TestClusterOtherFiles(t *testing.T) {
	for _, s := range strategiesOfClusters {
		for name, rows := range map[string]string{"same": "1,2\n3,4\n", "other": "1,2\n3,40\n"} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				log := &watchedLog{text: "other files than the chief's", found: stop}
				res := trainCluster(t, t.TempDir(), 2, s.servers, s.s, func(rank int, m *member) {
					m.fn = estimator.ModelFunc(toyModel)
					text := "1,2\n3,4\n"
					if rank == 1 {
						text, m.log = rows, slog.New(slog.NewTextHandler(log, nil))
					}
					file := filepath.Join(t.TempDir(), "rows.csv")
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					m.input = estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
						ds, err := inputs.CSV([]string{file}, inputs.CSVOptions{Columns: []inputs.ColumnSpec{{Name: "x", Shape: []int{1}}, {Name: "y", Role: inputs.Label, DType: "float32", Shape: []int{1}}}})
						return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(2, false)), err
					})
					if name == "other" {
						m.ctx = ctx // until the warning is logged
					} else {
						m.opts = []estimator.TrainOption{estimator.MaxSteps(4)}
					}
				})
				for _, r := range res {
					if r.err != nil && estimator.ExitCode(r.err) != estimator.ExitInterrupted {
						t.Errorf("%s: %v", r.task, r.err)
					}
				}
				if said := ctx.Err() != nil; said != (name == "other") {
					t.Errorf("said: %v", said)
				}
			})
		}
	}
}
