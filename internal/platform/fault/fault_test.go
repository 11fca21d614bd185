package fault

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func crash() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = New("the test", r)
		}
	}()
	panic("a secret")
}

// Clients get an id; the log has all details under it, once, however often the error is logged.
func TestError(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	err := crash()
	for range 3 {
		Log(log, fmt.Errorf("wrapped: %w", err), "model", "m")
	}
	Log(log, nil)
	Log(log, errors.New("another"))
	text := status.Convert(err).Message()
	if status.Code(err) != codes.Internal || strings.Contains(text, "secret") || strings.Contains(text, ".go") || !strings.Contains(text, "the test panicked") {
		t.Errorf("clients get %v", err)
	}
	id := err.(*Error).ID
	if !strings.Contains(text, id) || len(id) != 12 {
		t.Errorf("the text has no id: %s", text)
	}
	for _, want := range []string{id, "a secret", "fault.crash", "model=m"} {
		if strings.Count(out.String(), want) < 1 {
			t.Errorf("the log lacks %q:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines are logged", n)
	}
	if again := crash().(*Error); again.ID == id {
		t.Error("two panics have one id")
	}
}
