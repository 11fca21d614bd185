package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/goestimator/goestimator/internal/serving/manager"
	"github.com/goestimator/goestimator/internal/serving/tracing"
	"gocloud.dev/blob"
)

// Options say what a Server serves and how. Loader and Models are required; the zero
// value of everything else is a default.
type Options struct {
	Loader  Loader // of version directories, such as SavedModels
	Models  Models
	Loading Loading

	Listen  Listen
	TLS     *tls.Config // of the gRPC port; nil: plaintext
	RESTTLS *tls.Config // of the REST port; nil: plaintext
	Token   *Token      // that requests on all ports show; nil: none is asked for
	// RemoteAdmin answers reloading, profiling and reflection to other machines without a Token too, which are refused else.
	RemoteAdmin bool
	NoProfiler  bool      // TensorFlow's ProfilerService is left out
	Batching    *Batching // nil: requests do not share runs
	Overload    *Overload // nil: nothing is refused for its wait
	NoWarmUp    bool      // warm-up requests in models are not replayed
	// WarmUpRuns is how often each warm-up request is replayed; 0: once.
	WarmUpRuns int
	Requests   Requests

	Metrics   string // path of Prometheus' metrics on the REST port; "": none
	NoPage    bool   // the web page on the REST port is left out
	AccessLog bool   // a log line for each request
	// RequestLogDir is the folder that request logs lie below; "": a config that asks for them is refused.
	RequestLogDir string
	Tracing       *Tracing // nil: no spans

	// Version of the server, for clients of the Open Inference Protocol. Build is a line that says what the program was built from, for the
	// page, metadata and metrics.
	Version, Build string

	// Drain bounds how long accepted requests may take once the Server ends; default 30 s.
	Drain time.Duration
	Log   *slog.Logger
}

// Listen says where requests are taken.
type Listen struct {
	// Host is of both ports. "" and "localhost": the loopback addresses 127.0.0.1 and [::1], on one port; "0.0.0.0" and
	// "::": all addresses, so that other machines are served.
	Host   string
	Port   int    // gRPC; 0: a free one; below 0: none
	REST   int    // REST; 0: a free one; below 0: none
	Socket string // path of a Unix socket for gRPC, without TLS; "": none
}

// Loading says how versions are found, loaded and kept.
type Loading struct {
	// Poll is the time between two looks at the base paths: 0 looks once, and at each Reload; less never looks but at Reload after the first.
	Poll time.Duration
	// StartWait is how long the first Reload waits for base paths and versions that are not there yet.
	StartWait time.Duration
	// Retries is how often loading is tried again, RetryInterval apart (default a minute), after an error that may pass.
	Retries       int
	RetryInterval time.Duration
	// Threads is how many versions load at the same time, once the first config is loaded (default 1). The versions of the
	// first config load on FirstThreads (default: as many as there are CPUs).
	Threads, FirstThreads int
	// Lazy, where it is above 0, is how many models are kept loaded: one is loaded when it is first asked for, in place
	// of the one that was not asked for the longest. The request waits up to LazyWait (default 30 s).
	Lazy     int
	LazyWait time.Duration
	// UnloadFirst unloads a version before the next is loaded: never more in memory than is asked for, but for a moment none.
	UnloadFirst bool
	// LabelsForUnavailable lets a new label name a version that is not available.
	LabelsForUnavailable bool
	// Partial makes the first config good although models of it fail; they are logged.
	Partial bool
	// Models may lie in buckets: s3://BUCKET/PATH, gs:// and azblob://, by the drivers of gocloud.dev/blob that the program imports.
	// CacheDir is the folder in which they are copied to a folder of the server's own, which is removed at
	// the end; "": the system's for temporary files. CacheMaxBytes is how large a version may be; 0: 64 GiB.
	CacheDir      string
	CacheMaxBytes int64

	openBucket func(ctx context.Context, url string) (*blob.Bucket, error) // for tests; nil: by the drivers that the program imports
	freeMemory func()                                                      // for tests; nil: the manager's default
}

// manager returns the manager's options that l says.
func (l Loading) manager() manager.Options {
	o := manager.Options{Poll: l.Poll, StartWait: l.StartWait, Retries: l.Retries, RetryInterval: l.RetryInterval, Threads: l.Threads, FirstThreads: l.FirstThreads,
		Lazy: l.Lazy, LazyWait: l.LazyWait, LabelsForUnavailable: l.LabelsForUnavailable, Partial: l.Partial, FreeMemory: l.freeMemory}
	if l.UnloadFirst {
		o.Policy = manager.ResourcePreserving
	}
	return o
}

// Tracing says where spans of requests go.
type Tracing struct {
	Endpoint string  // host:port of an OTLP collector (gRPC); empty: what OTEL_EXPORTER_OTLP_ENDPOINT says, or nowhere
	Insecure bool    // talk to Endpoint without TLS
	Service  string  // service.name; empty: OTEL_SERVICE_NAME, or "goestimator"
	Ratio    float64 // of the requests that begin here and are recorded, in (0, 1]; 0: all. One that comes with a trace keeps its sampling
}

func (t Tracing) internal() tracing.Options {
	return tracing.Options{Endpoint: t.Endpoint, Insecure: t.Insecure, Service: t.Service, Ratio: t.Ratio}
}

// Overload refuses requests that would wait long.
type Overload struct {
	Slots    int           // runs of a model at the same time; 0: as many as there are CPUs
	MaxDelay time.Duration // longest estimated wait; 0: as long as one run takes, or 5 ms
}

// Requests says how requests are answered.
type Requests struct {
	RESTTimeout  time.Duration // of a REST call; 0: 30 s
	GRPCTimeout  time.Duration // of a gRPC call without a deadline; 0: 10 min
	CORS         bool          // pages of any origin may call
	Content      bool          // tensors in replies as tensor_content
	CheckMethods bool          // a signature's method must fit the call
	MaxBytes     int64         // of a request, also decompressed; 0: 512 MiB over REST, 2 GiB over gRPC
	// Memory is how many bytes all requests may hold together; 0: three quarters of what the process may use. MemoryEach
	// is how many one may; 0: 64 MiB and ten times its bytes, and for what the model computes of rows that were sent as many as all.
	Memory, MemoryEach int64
}

func (o *Options) setDefaults() error {
	if o.Loader == nil {
		return errors.New("serving: no loader")
	}
	if o.Token != nil && o.Token.check == nil {
		return errors.New("serving: a Token without content: make it by NewToken or ReadToken")
	}
	if err := o.Models.validate(); err != nil {
		return err
	}
	if o.Listen.Port < 0 && o.Listen.REST < 0 && o.Listen.Socket == "" {
		return errors.New("neither a gRPC port, a REST port nor a socket to listen on")
	}
	if o.Metrics != "" && o.Listen.REST < 0 {
		return errors.New("metrics are on the REST port, which is off")
	}
	if o.Batching != nil {
		if err := o.Batching.internal().Validate(); err != nil {
			return fmt.Errorf("batching: %w", err)
		}
	}
	if o.Overload != nil && o.Overload.Slots == 0 {
		o.Overload.Slots = runtime.GOMAXPROCS(0)
	}
	if o.Requests.Memory < 0 || o.Requests.MemoryEach < 0 {
		return errors.New("memory of requests: expected at least 0 bytes")
	}
	if o.Drain <= 0 {
		o.Drain = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
