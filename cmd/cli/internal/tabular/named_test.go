package tabular

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestNamed: the errors of an object name it, and io.EOF stays io.EOF.
func TestNamed(t *testing.T) {
	broken := errors.New("the store sent 5 bytes")
	_, err := io.ReadAll(&named{iotest.ErrReader(broken), "s3://b/t.csv"})
	if !errors.Is(err, broken) || err.Error() != "s3://b/t.csv: the store sent 5 bytes" {
		t.Errorf("got %v", err)
	}
	if text, err := io.ReadAll(&named{strings.NewReader("a,b"), "t"}); err != nil || string(text) != "a,b" {
		t.Errorf("got %q, %v", text, err)
	}
}
