package cli_test

import (
	"context"
	"os"

	"github.com/goestimator/goestimator/cmd/cli"
)

// A command line can be run inside a process, for example in a test.
func ExampleRun() {
	os.Setenv("TF_CONFIG", `{"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}}`)
	defer os.Unsetenv("TF_CONFIG")
	code := cli.Run(context.Background(), []string{"inspect", "tf-config"}, os.Stdout, os.Stderr)
	if code != 0 {
		os.Exit(code)
	}
	// Output:
	// task_type=ps
	// task_id=0
	// is_chief=false
	// num_workers=1
	// num_ps=1
	// worker_rank=-1
	// global_id=1
	// master=grpc://b:1
	// evaluation_master=none
	// environment=cloud
	// rpc_layer=grpc
	// model_dir=none
	// device_filters=/job:ps /job:worker /job:chief /job:master
	// cluster chief 0 a:1
	// cluster ps 0 b:1
}
