package launcher_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/goestimator/goestimator/cmd/cli/internal/launcher"
	"github.com/goestimator/goestimator/internal/distributed/replica"
)

func Example() {
	outcomes, err := launcher.Run(context.Background(), launcher.Local{
		Job:     launcher.Job{Workers: 1, Command: []string{"echo", "hello"}, Restart: replica.Never, Grace: time.Second},
		Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	fmt.Println(outcomes, err)
	// Output:
	// [worker-0] hello
	// [{worker-0 0 0 exited}] <nil>
}
