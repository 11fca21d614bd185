package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// told is the transport of a call that records the statuses sent to its client.
type told struct{ all []*status.Status }

func (*told) Method() string                       { return "" }
func (*told) SetHeader(metadata.MD) error          { return nil }
func (*told) SendHeader(metadata.MD) error         { return nil }
func (*told) SetTrailer(metadata.MD) error         { return nil }
func (t *told) WriteStatus(s *status.Status) error { t.all = append(t.all, s); return nil }

// A call whose client was told of its end fails, even if its message arrives then; a call whose message has arrived is not ended.
// ended.
func TestWaitsThatEndAsTheMessageComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit, ends, comes time.Duration
			want               codes.Code
		}{{time.Minute, time.Hour, time.Second, codes.OK}, {time.Minute, time.Hour, 2 * time.Minute, codes.DeadlineExceeded}, {time.Minute, time.Second, 2 * time.Second, codes.Unavailable}, {0, time.Second, 0, codes.OK}} {
			call := &told{}
			ending, end := context.WithTimeout(t.Context(), c.ends)
			w := StartWait(grpc.NewContextWithServerTransportStream(ending, call), c.limit, ending)
			time.Sleep(c.comes)
			synctest.Wait()
			err := w.Done(nil)
			time.Sleep(2 * time.Hour)
			if status.Code(err) != c.want || len(call.all) != min(int(c.want), 1) {
				t.Errorf("%+v: got %v, the client is told %v", c, err, call.all)
			}
			end()
		}
	})
}
