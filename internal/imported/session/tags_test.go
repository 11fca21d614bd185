package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/testkit"
)

// TestTags: Open takes the graph with exactly the given tags.
func TestTags(t *testing.T) {
	dir := testkit.Shared(t, "golden/tensorflow-serving/saved_model_counter/00000123")
	s, err := session.Open(context.Background(), dir, session.Options{Tags: []string{"serve"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := session.Open(context.Background(), dir, session.Options{Tags: []string{"serve", "gpu"}}); err == nil || !strings.Contains(err.Error(), "no graph has the tags {gpu, serve}") {
		t.Errorf("%v: expected an error that names the tags", err)
	}
}
