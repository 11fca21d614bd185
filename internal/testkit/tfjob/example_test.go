package tfjob_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/internal/testkit/tfjob"
)

func Example() {
	o, err := tfjob.Start(tfjob.Job{Replicas: map[string]tfjob.Replicas{
		"chief": {Count: 1, Restart: replica.ExitCode, Command: []string{"true"}},
		"ps":    {Count: 2, Command: []string{"sleep", "600"}},
	}, CleanPods: tfjob.CleanRunning})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer o.Close()
	status, err := o.Wait(context.Background())
	fmt.Println(status.Message(tfjob.Succeeded), err)
	// Output: TFJob job successfully completed. <nil>
}
