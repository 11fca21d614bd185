package replica_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/replica"
)

func Example() {
	cluster := map[string][]string{"worker": {"a:2222"}, "ps": {"b:2222"}}
	fmt.Println(replica.TFConfig(cluster, replica.Task{Type: replica.Worker, Index: 0}))
	fmt.Println(replica.ExitCode.Restarts(1), replica.ExitCode.Restarts(137))
	// Output:
	// {"cluster":{"ps":["b:2222"],"worker":["a:2222"]},"task":{"type":"worker","index":0},"environment":"cloud"}
	// false true
}
