package requestlog

import (
	"context"
	"log/slog"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"google.golang.org/grpc/status"
)

// Access writes a line for every call, at level Info, or Warn if the call failed.
type Access struct{ Log *slog.Logger }

var (
	_ inference.Observer = Access{}
	_ inference.Observer = (*Logger)(nil)
)

// Done implements inference.Observer.
func (a Access) Done(c inference.Call) {
	level := slog.LevelInfo
	if c.Err != nil {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !a.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("api", c.API), slog.String("entrypoint", c.Entrypoint), slog.String("model", shown(c.Model)),
		slog.Int64("version", c.ID.Version), slog.String("signature", shown(c.Signature)), slog.String("code", status.Code(c.Err).String()),
		slog.Duration("latency", c.Latency), slog.Duration("runtime", c.Runtime),
	}
	if c.Examples > 0 {
		attrs = append(attrs, slog.Int("examples", c.Examples))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.String("error", shown(status.Convert(c.Err).Message())))
	}
	a.Log.LogAttrs(ctx, level, "request", attrs...)
}

// longest is the largest number of bytes of client-chosen text in a line.
const longest = 1024

// shown shortens s.
func shown(s string) string { return printable.Short(s, longest) }
