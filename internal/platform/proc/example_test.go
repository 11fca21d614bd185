package proc_test

import (
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/platform/proc"
)

func Example() {
	p, err := proc.Start(proc.Command{Args: []string{"sh", "-c", "echo hello; exit 3"}, Stdout: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-p.Done()
	fmt.Println("exit code", p.ExitCode())
	// Output:
	// hello
	// exit code 3
}
