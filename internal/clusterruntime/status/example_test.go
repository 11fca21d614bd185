package status_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/goestimator/goestimator/internal/clusterruntime/status"
)

// The page of a task.
func Example() {
	p := status.New(func() status.State { return status.State{Task: "/job:ps/task:0"} })
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	fmt.Print(w.Body)
	// Output: ok
}
