package ps

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(kernels.WorkerFunction))
}
