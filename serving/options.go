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

// Options say what a Server serves and how. Loader and Models are required; for all other
// fields the zero value is the default.
type Options struct {
	Loader  Loader // loads version directories; see SavedModels
	Models  Models
	Loading Loading

	Listen  Listen
	TLS     *tls.Config // of the gRPC port; nil: plaintext
	RESTTLS *tls.Config // of the REST port; nil: plaintext
	Token   *Token      // required from requests on all ports; nil: none is
	// RemoteAdmin allows reloading, profiling and reflection from other machines even without a Token; otherwise they are refused.
	RemoteAdmin bool
	NoProfiler  bool      // TensorFlow's ProfilerService is left out
	Batching    *Batching // nil: requests do not share runs
	Overload    *Overload // nil: no request is refused for its expected wait
	NoWarmUp    bool      // do not replay warm-up requests in models
	// WarmUpRuns is the number of times to replay each warm-up request; 0: once.
	WarmUpRuns int
	Requests   Requests

	Metrics   string // path of Prometheus' metrics on the REST port; "": none
	NoPage    bool   // the web page on the REST port is left out
	AccessLog bool   // a log line for each request
	// RequestLogDir is the folder for request logs; "": a config that asks for request logs is refused.
	RequestLogDir string
	Tracing       *Tracing // nil: no spans

	// Version is the server's version, for clients of the Open Inference Protocol. Build is a line that says what the program was built from, for
	// the page, metadata and metrics.
	Version, Build string

	// Drain bounds how long accepted requests may take when the Server ends; default 30 s.
	Drain time.Duration
	Log   *slog.Logger
}

// Listen says where requests are taken.
type Listen struct {
	// Host applies to both ports. "" and "localhost": the loopback addresses 127.0.0.1 and [::1], on the same port. "0.0.0.0"
	// and "::": all addresses, so that other machines are served.
	Host   string
	Port   int    // gRPC; 0: a free one; below 0: none
	REST   int    // REST; 0: a free one; below 0: none
	Socket string // path of a Unix socket for gRPC, without TLS; "": none
}

// Loading says how versions are found, loaded and kept.
type Loading struct {
	// Poll is the time between two looks at the base paths. 0: look once, and at each Reload. Below 0: look only at each Reload after the first.
	Poll time.Duration
	// StartWait is how long the first Reload waits for base paths and versions that are not there yet.
	StartWait time.Duration
	// Retries is how often loading is retried after a temporary error, at intervals of RetryInterval (default a minute).
	Retries       int
	RetryInterval time.Duration
	// Threads is the number of versions that load at the same time (default 1). For the first config it is FirstThreads
	// (default: the number of CPUs).
	Threads, FirstThreads int
	// Lazy, if above 0, is the number of models that stay loaded. A model is loaded at its first request, in place of the
	// least recently requested one. The request waits up to LazyWait (default 30 s).
	Lazy     int
	LazyWait time.Duration
	// UnloadFirst unloads a version before the next one is loaded. This saves memory, but for a moment no version is available.
	UnloadFirst bool
	// LabelsForUnavailable allows new labels for versions that are not available.
	LabelsForUnavailable bool
	// Partial accepts the first config even if some of its models fail to load; failures are logged.
	Partial bool
	// Models may be in buckets: s3://BUCKET/PATH, gs:// and azblob://, by the drivers of gocloud.dev/blob that the program imports.
	// They are copied to a new folder in CacheDir, which the server removes at the end; "": in the system's folder for
	// temporary files. CacheMaxBytes is the largest size of a version; 0: 64 GiB.
	CacheDir      string
	CacheMaxBytes int64

	openBucket func(ctx context.Context, url string) (*blob.Bucket, error) // for tests; nil: by the drivers that the program imports
	freeMemory func()                                                      // for tests; nil: the manager's default
}

// manager returns l as the manager's options.
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
	Ratio    float64 // fraction of requests without a trace that are recorded, in (0, 1]; 0: all. A request with a trace keeps the trace's sampling
}

func (t Tracing) internal() tracing.Options {
	return tracing.Options{Endpoint: t.Endpoint, Insecure: t.Insecure, Service: t.Service, Ratio: t.Ratio}
}

// Overload refuses requests that would wait too long.
type Overload struct {
	Slots    int           // runs of a model at the same time; 0: the number of CPUs
	MaxDelay time.Duration // longest estimated wait; 0: the time of one run, or 5 ms
}

// Requests says how requests are answered.
type Requests struct {
	RESTTimeout  time.Duration // of a REST call; 0: 30 s
	GRPCTimeout  time.Duration // of a gRPC call without a deadline; 0: 10 min
	CORS         bool          // pages of any origin may call
	Content      bool          // tensors in replies as tensor_content
	CheckMethods bool          // require a signature's method to fit the call
	MaxBytes     int64         // of a request, also decompressed; 0: 512 MiB over REST, 2 GiB over gRPC
	// Memory is the number of bytes that all requests may hold together; 0: three quarters of what the process may use.
	// MemoryEach is the limit for one request; 0: 64 MiB and ten times its bytes, but for what the model computes from
	// the rows sent, as much as for all requests.
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
