package requestlog_test

import (
	"log/slog"
	"os"
	"time"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/requestlog"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// The access log has a line for every call.
func ExampleAccess() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	requestlog.Access{Log: log}.Done(inference.Call{API: "Predict", Entrypoint: "GRPC", Model: "m", ID: servable.ID{Name: "m", Version: 7},
		Signature: "serving_default", Latency: 3 * time.Millisecond, Runtime: time.Millisecond})
	// Output: level=INFO msg=request api=Predict entrypoint=GRPC model=m version=7 signature=serving_default code=OK latency=3ms runtime=1ms
}
