package waiting_test

import (
	"fmt"
	"time"

	"github.com/goestimator/goestimator/internal/platform/waiting"
)

func Example() {
	start := time.Now()
	w := waiting.Begin(start)
	ps := waiting.Target{Name: "/job:ps/task:1 at host:2222", Reason: "connection refused"}
	for _, after := range []time.Duration{5 * time.Second, 12 * time.Second, 13 * time.Second} {
		if waited, due := w.Due(start.Add(after)); due {
			fmt.Println(ps.Text(waited))
		}
	}
	// Output: waiting for /job:ps/task:1 at host:2222 (12 s): connection refused
}
