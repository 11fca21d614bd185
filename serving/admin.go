package serving

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/serving/grpcapi"
	"github.com/goestimator/goestimator/internal/serving/openinference"
	"github.com/goestimator/goestimator/internal/serving/profiler"
	"github.com/goestimator/goestimator/internal/serving/security"
)

// isAdmin reports whether a method is for the server's operator: it changes what the server does, or describes it.
func isAdmin(method string) bool {
	switch method {
	case "/" + grpcapi.ModelService + "/HandleReloadConfigRequest", "/" + openinference.Name + "/RepositoryModelLoad", "/" + openinference.Name + "/RepositoryModelUnload":
		return true
	}
	return strings.HasPrefix(method, "/grpc.reflection.") || strings.HasPrefix(method, "/"+profiler.Name+"/")
}

// admitREST is admit and logAdmin for an admin call over REST, whose token was already checked. Without tokens, web pages of other
// origins may not make admin calls, even if they may predict.
func (s *Server) admitREST(r *http.Request, remote bool) (end func(error), err error) {
	switch {
	case s.o.Token != nil:
	case remote && !s.o.RemoteAdmin:
		err = errRemoteAdmin
	case !security.SameOrigin(r):
		err = status.Errorf(codes.PermissionDenied, "origin %q: pages of other origins than the server's may not load or unload models of a server that asks for no token", r.Header.Get("Origin"))
	}
	log := s.o.Log.With("method", r.Method+" "+r.URL.Path, "peer", r.RemoteAddr)
	log.Info("admin call")
	end = func(err error) {
		if err != nil {
			log.Warn("admin call failed", "code", status.Code(err).String(), "error", statustext.Of(err))
		}
	}
	if err != nil {
		end(err)
	}
	return end, err
}

var errRemoteAdmin = status.Error(codes.PermissionDenied, "this server is reached by other machines and asks for no token: loading, reloading, profiling and "+
	"reflection are refused; start it with --token-file, or with --allow-remote-admin")

// admit returns why a call is refused, nil if it is admitted. remote says whether other machines can reach the call's port.
func (s *Server) admit(ctx context.Context, method string, remote bool) error {
	switch {
	case s.o.Token != nil:
		return s.o.Token.check.Check(ctx, method)
	case remote && isAdmin(method) && !s.o.RemoteAdmin:
		return errRemoteAdmin
	}
	return nil
}

// logAdmin logs a line for each admin call, with its peer, and another one if it fails or is refused.
func (s *Server) logAdmin(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !isAdmin(info.FullMethod) {
		return handler(ctx, req)
	}
	end := s.beginAdmin(ctx, info.FullMethod)
	resp, err := handler(ctx, req)
	end(err)
	return resp, err
}

// logAdminStream is logAdmin for streams.
func (s *Server) logAdminStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !isAdmin(info.FullMethod) {
		return handler(srv, stream)
	}
	end := s.beginAdmin(stream.Context(), info.FullMethod)
	err := handler(srv, stream)
	end(err)
	return err
}

func (s *Server) beginAdmin(ctx context.Context, method string) (end func(error)) {
	log := s.o.Log.With("method", method, "peer", peerOf(ctx))
	log.Info("admin call")
	return func(err error) {
		if err != nil {
			log.Warn("admin call failed", "code", status.Code(err).String(), "error", statustext.Convert(err).Message())
		}
	}
}

// peerOf returns where a call comes from.
func peerOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "unknown"
	}
	if p.Addr.Network() == "unix" {
		return "unix socket"
	}
	return p.Addr.String()
}
