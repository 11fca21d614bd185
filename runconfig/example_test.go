package runconfig_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/runconfig"
)

func ExampleFromTFConfig() {
	c, err := runconfig.FromTFConfig(`{
		"cluster": {"chief": ["a:2222"], "worker": ["b:2222", "c:2222"], "ps": ["d:2222"]},
		"task": {"type": "worker", "index": 1}}`, runconfig.ModelDir("/models/m"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.TaskType(), c.TaskID(), "rank", c.WorkerRank(), "of", c.NumWorkers(), "at", c.Master())
	// Output: worker 1 rank 2 of 3 at grpc://c:2222
}

func ExampleRunConfig_With() {
	c, _ := runconfig.FromTFConfig("")
	d, _ := c.With(runconfig.SaveCheckpointsSteps(500))
	fmt.Println(c.SaveCheckpointsSteps(), c.SaveCheckpointsSecs())
	fmt.Println(d.SaveCheckpointsSteps(), d.SaveCheckpointsSecs())
	// Output:
	// 0 600
	// 500 0
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "job.yaml")
	text := "model_dir: runs/job\nmodel: {name: mlp}\ntrain: {max_steps: 100}\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := runconfig.Load(runconfig.LoadOptions{
		Path: path,
		Env:  []string{"GOESTIMATOR_TRAIN_MAX_STEPS=200"},
		Sets: []string{"optimizer.learning_rate=0.01"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Model.Name, cfg.Train.MaxSteps, cfg.Optimizer.LearningRate.Initial)
	_, err = runconfig.Load(runconfig.LoadOptions{Env: []string{}, Sets: []string{"train.max_step=5"}})
	fmt.Println(err)
	// Output:
	// mlp 200 0.01
	// invalid configuration: train.max_step: got "5", which is not a known key; did you mean train.max_steps? (--set train.max_step)
}
