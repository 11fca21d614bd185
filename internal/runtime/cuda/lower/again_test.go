package lower_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate/emulatetest"
)

func TestInEveryOrder(t *testing.T) { emulatetest.Again(t, "") }
