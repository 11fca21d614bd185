package runconfig

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestMistake(t *testing.T) {
	if Mistake(nil) != nil {
		t.Error("no error is a mistake")
	}
	err := fmt.Errorf("strategy: %w", Mistake(io.EOF))
	if !errors.Is(err, ErrMistake) || !errors.Is(err, io.EOF) || err.Error() != "strategy: EOF" {
		t.Errorf("%v is not a mistake that wraps EOF", err)
	}
	if _, err := FromTFConfig("{"); !errors.Is(err, ErrMistake) {
		t.Errorf("%v is no mistake", err)
	}
	if errors.Is(io.EOF, ErrMistake) {
		t.Error("EOF is a mistake")
	}
}
