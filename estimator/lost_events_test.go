package estimator_test

import (
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/runconfig"
)

// fullDisk is a file system without room.
type fullDisk struct{ atomicfile.OS }

func (d fullDisk) OpenFile(name string, flag int, mode os.FileMode) (atomicfile.File, error) {
	f, err := d.OS.OpenFile(name, flag, mode)
	return noRoom{f, name}, err
}

type noRoom struct {
	atomicfile.File
	name string
}

func (f noRoom) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
}

// TestLostEvents: if only events cannot be written, training runs to its end, keeps its checkpoints, and warns once.
func TestLostEvents(t *testing.T) {
	dir := t.TempDir()
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(dir), runconfig.SaveCheckpointsSteps(4), runconfig.SaveSummarySteps(1), runconfig.LogStepCountSteps(1))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	e := toy(t, dir, estimator.WithRunConfig(rc), estimator.WithEventsFS(fullDisk{}), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if _, err := e.Train(t.Context(), forever(&toyData{rows: 40}), estimator.MaxSteps(10)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "events cannot be written"); n != 1 || !strings.Contains(log.String(), "no space left on device") {
		t.Errorf("said %d times: %s", n, log.String())
	}
	newest, err := e.LatestCheckpoint()
	if err != nil || !strings.HasSuffix(newest, "-10") {
		t.Errorf("the newest checkpoint is %q, %v", newest, err)
	}
}

// TestLostEvalEvents: where events of evaluations cannot be written, evaluations return their results, and say so once.
func TestLostEvalEvents(t *testing.T) {
	for name, disk := range map[string]atomicfile.FS{"full": fullDisk{}, "read-only": readOnly{}} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			e := toy(t, t.TempDir(), estimator.WithEventsFS(disk), estimator.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			for range 3 {
				if res, err := e.Evaluate(t.Context(), &toyData{rows: 40}); err != nil || len(res.Metrics) == 0 {
					t.Fatalf("got metrics %v, error %v", res.Metrics, err)
				}
			}
			if n := strings.Count(log.String(), "events of evaluations cannot be written"); n != 1 {
				t.Errorf("said %d times: %s", n, log.String())
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// readOnly is a file system that may only be read.
type readOnly struct{ atomicfile.OS }

func (readOnly) OpenFile(name string, _ int, _ os.FileMode) (atomicfile.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}
