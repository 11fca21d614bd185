package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
)

// A model whose variables do not fit into memory is refused before they are read.
func TestVariablesThatDoNotFit(t *testing.T) {
	dir := testkit.Shared(t, "golden/tensorflow-serving/saved_model_half_plus_two_cpu/00000123")
	if _, err := session.Open(context.Background(), dir, session.Options{Memory: 7}); err == nil || !strings.Contains(err.Error(), "its variables do not fit") {
		t.Errorf("got %v, expected that the variables, of some bytes, do not fit", err)
	}
	s, err := session.Open(context.Background(), dir, session.Options{Memory: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
