package cluster_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(kernels.WorkerFunction))
}
