package statustext_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func Example() {
	err := fmt.Errorf("model m: %w", status.Error(codes.NotFound, "no version"))
	fmt.Println(err)
	fmt.Println(statustext.Of(err))
	fmt.Println(statustext.Convert(err).Code())
	// Output:
	// model m: rpc error: code = NotFound desc = no version
	// model m: no version
	// NotFound
}

func TestOf(t *testing.T) {
	lost, gone := status.Error(codes.NotFound, "lost"), status.Error(codes.Unavailable, "gone: 100 %")
	for _, c := range []struct {
		err  error
		want string
		code codes.Code
	}{
		{nil, "", codes.OK},
		{errors.New("plain"), "plain", codes.Unknown},
		{lost, "lost", codes.NotFound},
		{fmt.Errorf("a: %w", lost), "a: lost", codes.NotFound},
		{fmt.Errorf("a: %w, b: %w", lost, gone), "a: lost, b: gone: 100 %", codes.NotFound},
		{fmt.Errorf("c: %w", errors.Join(errors.New("x"), fmt.Errorf("b: %w", gone))), "c: x\nb: gone: 100 %", codes.Unavailable},
	} {
		if got := statustext.Of(c.err); got != c.want {
			t.Errorf("%v: got %q, expected %q", c.err, got, c.want)
		}
		if s := statustext.Convert(c.err); s.Code() != c.code || s.Message() != c.want {
			t.Errorf("%v: got %v", c.err, s)
		}
	}
}
