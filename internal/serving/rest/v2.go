package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/openinference/pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// v2 serves the Open Inference Protocol.
func (h *handler) v2(w http.ResponseWriter, r *http.Request, path string) {
	h.allowPages(w)
	s := scratches.Get().(*scratch)
	defer s.free()
	if r.Method == http.MethodOptions && h.CORS {
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type, "+headerLength)
		w.WriteHeader(http.StatusOK)
		return
	}
	if h.CORS {
		w.Header().Set("Access-Control-Expose-Headers", headerLength)
	}
	x := &exchange{handler: h, w: w, r: r, s: s, at: strings.Split(strings.Trim(strings.TrimPrefix(path, "/v2"), "/"), "/")}
	for i := range x.at {
		x.at[i] = unescape(x.at[i])
	}
	out, code, err := x.answer()
	if s.out = out; err != nil {
		h.fail(w, r, s, err)
		return
	}
	h.reply(w, r, code, out)
}

// exchange is a request of the Open Inference Protocol with its reply.
type exchange struct {
	*handler
	w  http.ResponseWriter
	r  *http.Request
	s  *scratch
	at []string // the path after /v2
}

func (x *exchange) answer() (out []byte, code int, err error) {
	switch x.at[0] {
	case "", "health":
		return x.server()
	case "models":
		return x.model()
	case "repository":
		return x.repository()
	}
	return x.malformed()
}

func (x *exchange) malformed() ([]byte, int, error) {
	return x.s.out[:0], 0, status.Errorf(codes.NotFound, "Malformed request: %s %s", x.r.Method, x.r.URL.Path)
}

// is reports whether the request has that method and that many parts in its path.
func (x *exchange) is(method string, parts int) bool {
	return x.r.Method == method && len(x.at) == parts
}

// truth replies with a condition, and with the other code if it is false.
func (x *exchange) truth(name string, holds bool, otherwise int) ([]byte, int, error) {
	w := &writer{buf: x.s.out[:0], narrow: true}
	w.open('{')
	w.quoted([]byte(name))
	w.raw(map[bool]string{true: "true", false: "false"}[holds])
	w.close('}')
	if holds {
		return w.buf, http.StatusOK, nil
	}
	return w.buf, otherwise, nil
}

// server answers for the server as a whole.
func (x *exchange) server() ([]byte, int, error) {
	switch {
	case x.is(http.MethodGet, 1) && x.at[0] == "":
		m, err := x.OpenInference.ServerMetadata(x.r.Context(), &pb.ServerMetadataRequest{})
		if err != nil {
			return nil, 0, err
		}
		w := &writer{buf: x.s.out[:0], narrow: true}
		w.open('{')
		w.pair("name", m.Name)
		w.pair("version", m.Version)
		w.list("extensions", m.Extensions)
		w.close('}')
		return w.buf, http.StatusOK, nil
	case x.is(http.MethodGet, 2) && x.at[1] == "live":
		return x.truth("live", true, 0)
	case x.is(http.MethodGet, 2) && x.at[1] == "ready":
		return x.truth("ready", x.Ready(), http.StatusServiceUnavailable)
	}
	return x.malformed()
}

// pair writes a string member.
func (w *writer) pair(name, value string) {
	w.quoted([]byte(name))
	w.quoted([]byte(value))
}

// list writes a member that is a list of strings.
func (w *writer) list(name string, values []string) {
	w.quoted([]byte(name))
	w.open('[')
	for _, v := range values {
		w.quoted([]byte(v))
	}
	w.close(']')
}

// model answers for a model or one of its versions. The path has "models", its name, "versions" and the version, and then the question.
func (x *exchange) model() ([]byte, int, error) {
	if len(x.at) < 2 {
		return x.malformed()
	}
	name, version, rest := x.at[1], "", x.at[2:]
	if len(rest) >= 2 && rest[0] == "versions" {
		version, rest = rest[1], rest[2:]
	}
	switch what := strings.Join(rest, "/"); {
	case x.r.Method == http.MethodGet && what == "":
		return x.metadata(name, version)
	case x.r.Method == http.MethodGet && what == "ready":
		code := http.StatusOK
		err := x.OpenInference.Find(name, version)
		if err != nil {
			code = httpCode(status.Code(err))
		}
		return x.truth("ready", err == nil, code)
	case x.r.Method == http.MethodPost && what == "infer":
		return x.infer(name, version)
	}
	return x.malformed()
}

// metadata replies with the tensors of a model.
func (x *exchange) metadata(name, version string) ([]byte, int, error) {
	m, err := x.OpenInference.ModelMetadata(x.r.Context(), &pb.ModelMetadataRequest{Name: name, Version: version})
	if err != nil {
		return x.s.out[:0], 0, err
	}
	w := &writer{buf: x.s.out[:0], narrow: true}
	w.open('{')
	w.pair("name", m.Name)
	w.list("versions", m.Versions)
	w.pair("platform", m.Platform)
	w.tensors("inputs", m.Inputs)
	w.tensors("outputs", m.Outputs)
	w.close('}')
	return w.buf, http.StatusOK, nil
}

func (w *writer) tensors(name string, all []*pb.ModelMetadataResponse_TensorMetadata) {
	w.quoted([]byte(name))
	w.open('[')
	for _, t := range all {
		w.open('{')
		w.pair("name", t.Name)
		w.pair("datatype", t.Datatype)
		w.shape(t.Shape)
		w.close('}')
	}
	w.close(']')
}

// repository answers the model repository extension.
func (x *exchange) repository() ([]byte, int, error) {
	s := x.OpenInference
	switch {
	case x.is(http.MethodPost, 2) && x.at[1] == "index":
		return x.index()
	case x.is(http.MethodPost, 4) && x.at[1] == "models" && x.at[3] == "load":
		return x.admin(func(ctx context.Context, given parameters) error {
			_, err := s.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{ModelName: x.at[2], Parameters: given})
			return err
		})
	case x.is(http.MethodPost, 4) && x.at[1] == "models" && x.at[3] == "unload":
		return x.admin(func(ctx context.Context, _ parameters) error {
			_, err := s.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: x.at[2]})
			return err
		})
	}
	return x.malformed()
}

// loadLimit bounds how long a call waits for a model to be loaded.
const loadLimit = 10 * time.Minute

// parameters are the parameters of an admin call, whose values are ignored.
type parameters = map[string]*pb.ModelRepositoryParameter

func (x *exchange) admin(do func(context.Context, parameters) error) ([]byte, int, error) {
	end, err := x.Admin(x.r)
	if err != nil {
		return x.s.out[:0], 0, err
	}
	ctx, stop := context.WithTimeout(x.r.Context(), loadLimit)
	defer stop()
	given, err := x.readAdmin()
	if err == nil {
		err = do(ctx, given)
	}
	end(err)
	return append(x.s.out[:0], '{', '}'), http.StatusOK, err
}

// readAdmin reads the body of an admin call, which may be empty: net/http ends the context of a request whose body is not read in time.
func (x *exchange) readAdmin() (parameters, error) {
	root, err := x.readObject()
	if err != nil || root == nil {
		return nil, err
	}
	p, ok, err := root.parameters()
	if err != nil || !ok {
		return nil, err
	}
	count := p.count()
	if err := x.s.doc.takeTimes(count, inputCost); err != nil {
		return nil, err
	}
	all := make(parameters, count)
	p.enter()
	for range count {
		all[string(p.name())] = nil
		p.skip()
	}
	return all, nil
}

// readObject reads a body with a JSON object; nil if it is empty.
func (x *exchange) readObject() (*cursor, error) {
	x.s.open(x.Memory)
	if err := x.s.readBody(x.w, x.r, &x.Options); err != nil || len(x.s.text) == 0 {
		return nil, err
	}
	if err := x.s.doc.parse(x.s.text); err != nil {
		return nil, err
	}
	root := x.s.doc.cursor()
	return &root, nil
}

func (x *exchange) index() ([]byte, int, error) {
	root, err := x.readObject()
	out, ready := x.s.out[:0], false
	if err == nil && root != nil {
		ready, err = root.flag("ready")
	}
	if err != nil {
		return out, 0, err
	}
	r, err := x.OpenInference.RepositoryIndex(budget.With(x.r.Context(), x.s.account), &pb.RepositoryIndexRequest{Ready: ready})
	if err != nil {
		return out, 0, err
	}
	w := &writer{buf: out, narrow: true}
	w.open('[')
	for _, m := range r.Models {
		w.open('{')
		w.pair("name", m.Name)
		w.pair("version", m.Version)
		w.pair("state", m.State)
		w.pair("reason", m.Reason)
		w.close('}')
	}
	w.close(']')
	return w.buf, http.StatusOK, nil
}
