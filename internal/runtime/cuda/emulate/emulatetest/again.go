// Package emulatetest runs a package's tests on the emulated GPU in more than one way.
package emulatetest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
)

const limit = 10 * time.Minute // for each way

// ways are the environment variables of each run of the tests.
var ways = map[string][]string{
	"forward":  {emulate.OrderVariable + "=forward"},
	"backward": {emulate.OrderVariable + "=backward"},
	"checked":  {emulate.FlagsVariable + "=-fsanitize=undefined -fno-sanitize-recover=undefined"},
}

// Again runs all tests of the package except the caller and the tests that the regular expression but matches. It runs them
// with threads in both orders, and with kernels that stop at undefined behaviour of C++: unaligned loads, and indices outside
// of shared arrays. It is skipped unless GOESTIMATOR_ACCEPT is 1: tests run in one order anyway.
func Again(t *testing.T, but string) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: runs all tests three times more; set GOESTIMATOR_ACCEPT=1")
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			skip := []string{"^" + strings.SplitN(t.Name(), "/", 2)[0] + "$"}
			if but != "" {
				skip = append(skip, but)
			}
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.skip", strings.Join(skip, "|"), "-test.timeout", limit.String())
			cmd.Env = append(os.Environ(), append(way, "GOESTIMATOR_ACCEPT=0")...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
