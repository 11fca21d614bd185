package runconfig_test

import (
	"fmt"

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
