package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/config"
)

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
	cfg, err := config.Load(config.LoadOptions{
		Path: path,
		Env:  []string{"GOESTIMATOR_TRAIN_MAX_STEPS=200"},
		Sets: []string{"optimizer.learning_rate=0.01"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Model.Name, cfg.Train.MaxSteps, cfg.Optimizer.LearningRate.Initial)
	_, err = config.Load(config.LoadOptions{Env: []string{}, Sets: []string{"train.max_step=5"}})
	fmt.Println(err)
	// Output:
	// mlp 200 0.01
	// invalid configuration: train.max_step: got "5", which is not a known key; did you mean train.max_steps? (--set train.max_step)
}
