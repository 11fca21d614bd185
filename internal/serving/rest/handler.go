package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	apis "github.com/wamuir/graft/tensorflow/serving/apis_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Service answers the requests: an inference.Service whose Entrypoint is "REST". Its errors carry a gRPC status.
type Service interface {
	// Find returns an error if no model can answer, so that the body of such a request is not awaited.
	Find(spec inference.Spec) error
	// Features returns what signatures parse from serialized examples.
	Features(spec inference.Spec) map[string][]servable.Feature
	PredictFrom(ctx context.Context, spec inference.Spec, decode inference.Decode, filter []string) (*inference.Prediction, error)
	ClassifyExamples(ctx context.Context, spec inference.Spec, e inference.Examples) (*inference.Result, error)
	RegressExamples(ctx context.Context, spec inference.Spec, e inference.Examples) (*inference.Result, error)
	GetModelMetadata(ctx context.Context, r *apis.GetModelMetadataRequest) (*apis.GetModelMetadataResponse, error)
}

var _ Service = (*inference.Service)(nil)

// Options configure a handler. The zero value of each limit means the default in its comment.
type Options struct {
	Service Service
	Catalog servable.Catalog
	Meter   servable.Meter  // measures versions for the metadata; nil: no usage is shown
	About   *servable.About // describes the server in the metadata; nil: nothing is shown
	// OpenInference answers /v2; nil: it is not served.
	OpenInference *openinference.Service
	// Admin admits a call that loads or unloads a model; end is called with the outcome. Nil: all are admitted.
	Admin     func(r *http.Request) (end func(error), err error)
	Ready     func() bool          // for /readyz; nil: always ready
	NotReady  func() string        // lines that say why Ready returns false; nil: no reasons are known
	Observers []inference.Observer // notified of calls that are refused before Service sees them: bad JSON, bodies too large

	Timeout      time.Duration   // of a call, from the arrival of its body (30 s)
	ReadTimeout  time.Duration   // for a body to arrive (60 s)
	Ending       context.Context // ends when a server that shuts down stops waiting for bodies; nil: never
	WriteTimeout time.Duration   // for a reply to be taken (60 s)
	MaxBody      int64           // bytes, also of a body decompressed (512 MiB; at most 2 GiB - 1)
	Memory       *budget.Server  // pays for what requests hold; nil: not counted
	GzipMin      int             // smallest reply that is compressed for clients that accept gzip (1 KiB); negative: no reply is

	CORS  bool                    // send the headers that let pages of any origin call
	Extra map[string]http.Handler // further paths, such as the metrics'; a path that ends in "/", except the root, includes all below it
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		of *time.Duration
		is time.Duration
	}{{&o.Timeout, 30 * time.Second}, {&o.ReadTimeout, time.Minute}, {&o.WriteTimeout, time.Minute}} {
		if *d.of <= 0 {
			*d.of = d.is
		}
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 512 << 20
	}
	o.MaxBody = min(o.MaxBody, 1<<31-1)
	if o.GzipMin == 0 {
		o.GzipMin = 1 << 10
	}
	if o.Admin == nil {
		o.Admin = func(*http.Request) (func(error), error) { return func(error) {}, nil }
	}
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
}

// handler serves the API.
type handler struct{ Options }

// New returns the handler of the REST API.
func New(o Options) http.Handler {
	o.setDefaults()
	return &handler{o}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	awaitBody(w, r, &h.Options)
	at := target(r)
	path, _, _ := strings.Cut(at, "?")
	if x, ok := h.Extra[path]; ok {
		h.further(x, w, r)
		return
	}
	switch {
	case path == "/healthz":
		h.health(w, true)
	case path == "/readyz":
		h.health(w, h.Ready())
	case len(at) >= 4 && strings.EqualFold(at[:4], "/v1/"):
		h.api(w, r, at)
	case h.OpenInference != nil && (path == "/v2" || strings.HasPrefix(path, "/v2/")):
		h.v2(w, r, path)
	default:
		if x := h.below(path); x != nil {
			h.further(x, w, r)
			return
		}
		h.reply(w, r, http.StatusNotFound, appendError(nil, "Not Found: "+r.Method+" "+at))
	}
}

// further serves one of the extra paths, whose reply must be sent within the timeout too.
func (h *handler) further(x http.Handler, w http.ResponseWriter, r *http.Request) {
	h.within(w, func() { x.ServeHTTP(w, r) })
}

// below finds the extra handler of the folder that contains path.
func (h *handler) below(path string) http.Handler {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			if x, ok := h.Extra[path[:i+1]]; ok {
				return x
			}
		}
	}
	return nil
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// api serves the paths below /v1/.
func (h *handler) api(w http.ResponseWriter, r *http.Request, at string) {
	h.allowPages(w)
	s := scratches.Get().(*scratch)
	defer s.free()
	var err error
	switch r.Method {
	case http.MethodOptions:
		if origin := r.Header.Get("Origin"); strings.Contains(origin, "http://") || strings.Contains(origin, "https://") {
			w.WriteHeader(http.StatusOK)
			return
		}
		err = status.Error(codes.FailedPrecondition, "Origin header is missing in CORS preflight")
	case http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodPatch:
		s.out, err = h.answer(w, r, s, at)
	default:
		err = status.Error(codes.Unimplemented, "Method is not implemented: "+r.Method)
	}
	if err != nil {
		h.fail(w, r, s, err)
		return
	}
	h.reply(w, r, http.StatusOK, s.out)
}

// allowPages sets the headers of CORS.
func (h *handler) allowPages(w http.ResponseWriter) {
	if h.CORS {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "POST, GET")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	}
}

// Preflight lets pages of any origin send a token to h, a handler with Options.CORS behind a check of tokens: it answers the preflights of
// browsers, which have no token, and lets the pages read why h refuses a request.
func Preflight(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/v2" || strings.HasPrefix(r.URL.Path, "/v2/") {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				w.Header().Set("Access-Control-Allow-Methods", "POST, GET")
				w.Header().Set("Access-Control-Allow-Headers", strings.Join([]string{"Content-Type", "Authorization", inference.RoutingKey, headerLength}, ", "))
				w.WriteHeader(http.StatusOK)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// fail replies with an error.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, s *scratch, err error) {
	st := statustext.Convert(err)
	code, text := httpCode(st.Code()), st.Message()
	var ref *refusal
	switch over := s.account.Refused(); {
	case errors.As(err, &ref):
		code, text = ref.code, ref.text
		w.Header().Set("Connection", "close") // do not wait for the rest of the body
	case over != nil && st.Code() == over.GRPCStatus().Code():
		if !over.Server {
			code = http.StatusRequestEntityTooLarge
		}
		w.Header().Set("Connection", "close")
	}
	s.out = appendError(s.out[:0], text)
	h.reply(w, r, code, s.out)
}

// answer makes the reply to a request.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, s *scratch, at string) ([]byte, error) {
	out := s.out[:0]
	if r.Method == http.MethodGet && strings.EqualFold(at, "/v1/models:list") {
		return h.list(out), nil
	}
	to, err := routeOf(r.Method, at)
	if err != nil {
		return out, err
	}
	ctx := routed(r)
	switch to.method {
	case "":
		return out, invalid("Malformed request: %s %s", r.Method, at)
	case "status":
		return h.status(out, to)
	case "metadata":
		return h.metadata(ctx, out, to)
	}
	c := call{handler: h, route: to, start: time.Now()}
	if err := h.Service.Find(c.spec()); err != nil {
		return out, c.refuse(err)
	}
	s.open(h.Memory)
	out = s.out[:0]
	if err := s.readBody(w, r, &h.Options); err != nil {
		return out, c.refuse(err)
	}
	ctx, cancel := context.WithTimeout(budget.With(ctx, s.account), h.Timeout)
	defer cancel()
	switch to.method {
	case "predict":
		return c.predict(ctx, s, out)
	case "classify":
		return c.classify(ctx, s, out)
	}
	return c.regress(ctx, s, out)
}
