package estimator_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/runconfig"
)

var errHook = errors.New("the hook fails")

type badHook struct{ hooks.Base }

func (badHook) Begin(hooks.Setup) error { return errHook }

// TestTrainingThatDoesNotBegin: any failure before the first step ends training.
func TestTrainingThatDoesNotBegin(t *testing.T) {
	folder := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, name, "taken"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		config  runconfig.Option
		opts    []estimator.TrainOption
		want    func(error) bool
	}{
		"a hook":                       {opts: []estimator.TrainOption{estimator.WithHooks(badHook{})}, want: func(err error) bool { return errors.Is(err, errHook) }},
		"the graph's file is a folder": {prepare: folder("graph.pbtxt"), want: func(err error) bool { return errors.As(err, new(*os.LinkError)) || errors.As(err, new(*fs.PathError)) }},
		"listeners of no saver": {config: runconfig.SaveCheckpointsSecs(0), opts: []estimator.TrainOption{estimator.WithSavingListeners(nothing{})},
			want: func(err error) bool {
				return err != nil && strings.Contains(err.Error(), "there should be a CheckpointSaver hook")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.prepare != nil {
				c.prepare(t, dir)
			}
			options := []runconfig.Option{runconfig.ModelDir(dir)}
			if c.config != nil {
				options = append(options, c.config)
			}
			rc, err := runconfig.FromTFConfig("", options...)
			if err != nil {
				t.Fatal(err)
			}
			e, err := estimator.New(estimator.ModelFunc(toyModel), estimator.WithRunConfig(rc))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			res, err := e.Train(context.Background(), forever(&toyData{}), append(c.opts, estimator.Steps(1))...)
			if !c.want(err) || res.GlobalStep != 0 {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

// nothing is a listener that must not be called.
type nothing struct{ hooks.CheckpointListener }
