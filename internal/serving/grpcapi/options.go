package grpcapi

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/fault"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/wire"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress requests
	"google.golang.org/grpc/status"
)

// messageLimit is how much of an error's text is sent, in bytes.
const messageLimit = 1024

// DefaultTimeout bounds calls whose client set no deadline.
const DefaultTimeout = 10 * time.Minute

// MaxStreams is how many calls may run at the same time on one connection; clients hold back further ones. It is far above what
// models take at once, and bounds the cost of a client that opens calls and abandons them.
const MaxStreams = 4096

// Limits says how a server answers; the zero value is ready.
type Limits struct {
	Timeout    time.Duration   // of calls without a deadline; 0: DefaultTimeout
	MaxMessage int             // bytes of a request, also decompressed; 0: 2 GiB, gRPC's limit
	Arrival    time.Duration   // time for the next 16 MiB of a request, or its rest, to arrive; 0: a minute
	Ending     context.Context // ends when a server that shuts down stops waiting for requests; nil: never
	Departure  time.Duration   // time for a client with a place to take the next 16 MiB of a reply, or its rest; 0: a minute
	Memory     *budget.Server  // pays for what requests hold; nil: not counted
	Log        *slog.Logger    // panics; nil: slog.Default
}

func (l *Limits) setDefaults() {
	if l.MaxMessage <= 0 {
		l.MaxMessage = math.MaxInt32
	}
	if l.Arrival <= 0 {
		l.Arrival = time.Minute
	}
	if l.Departure <= 0 {
		l.Departure = time.Minute
	}
}

// Options returns the options of a server for Register: the codec of package wire, messages of up to 2 GiB, also after gzip, replies
// without compression, a deadline for every call, and INTERNAL for a handler that panics. Error texts have their escape sequences
// escaped, and at most 1024 bytes, then "...TRUNCATED".
func Options(l Limits) []grpc.ServerOption {
	l.setDefaults()
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.MaxRecvMsgSize(l.MaxMessage),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(MaxStreams),
		grpc.ChainUnaryInterceptor(l.intercept),
	}
}

func (l Limits) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	if _, ok := ctx.Deadline(); !ok {
		limit := l.Timeout
		if limit == 0 {
			limit = DefaultTimeout
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, fault.New(info.FullMethod, p)
			fault.Log(l.Log, err)
		}
		err = readable(err)
	}()
	return next(ctx, req)
}

// readable shortens an error's text and escapes what it has for terminals, which comes from names in the request. Its lines stay:
// TensorFlow Serving shows signatures in several.
func readable(err error) error {
	if err == nil {
		return nil
	}
	st := statustext.Convert(err)
	text := st.Message()
	long := len(text) > messageLimit
	if long { // escaped, it is no shorter; a rune that is cut here is cut again
		text = text[:min(len(text), messageLimit+utf8.UTFMax)]
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = printable.Text(l)
	}
	if text = strings.Join(lines, "\n"); long || len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "") + "...TRUNCATED"
	}
	if text == st.Message() {
		return st.Err()
	}
	return status.Error(st.Code(), text)
}
