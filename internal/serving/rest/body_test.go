package rest

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/admission"
)

// lastRead is a body during whose last read something happens.
type lastRead struct {
	left string
	then func()
}

func (b *lastRead) Read(p []byte) (int, error) {
	n := copy(p, b.left)
	if b.left = b.left[n:]; b.left == "" {
		b.then()
		return n, io.EOF
	}
	return n, nil
}

// TestBodyAtTheEnd: a body that arrives in the moment when a server that shuts down stops waiting is refused, since its connection is then
// no longer read; a body that arrived earlier is not.
func TestBodyAtTheEnd(t *testing.T) {
	for _, during := range []bool{true, false} {
		ending, end := context.WithCancel(t.Context())
		then := func() {}
		if during {
			then = end
		}
		r := httptest.NewRequest("POST", "/", &lastRead{"{}", then})
		r.ContentLength = 2
		want := error(nil)
		if during {
			want = admission.ErrEnding
		}
		s := new(scratch)
		if err := s.readBody(httptest.NewRecorder(), r, &Options{MaxBody: 100, Ending: ending}); err != want {
			t.Errorf("got %v, expected %v", err, want)
		}
		end()
		if !during && string(s.text) != "{}" {
			t.Errorf("got %q", s.text)
		}
	}
}
