package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/admission"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Metadata of every call.
const (
	taskKey        = "goestimator-task"
	calledKey      = "goestimator-called" // the task for which the caller takes this one
	incarnationKey = "goestimator-incarnation"
	jobKey         = "goestimator-job"
	tokenKey       = "authorization"
	bearer         = "Bearer "
)

// identify adds the caller, the called task and the token to a call's metadata.
func (n *Node) identify(ctx context.Context, called Task) context.Context {
	job, _ := n.heldBy()
	kv := []string{taskKey, n.config.Task.String(), calledKey, called.String(), incarnationKey, strconv.FormatUint(n.incarnation, 16), jobKey, job.String()}
	if t := n.config.Security.Token; t != "" {
		kv = append(kv, tokenKey, bearer+t)
	}
	return metadata.AppendToOutgoingContext(ctx, kv...)
}

// PeerOf returns a handler's caller as it declared itself; ok is false if it did not.
func PeerOf(ctx context.Context) (p Peer, ok bool) {
	md, _ := metadata.FromIncomingContext(ctx)
	t, err := ParseTask(first(md, taskKey))
	if err != nil {
		return Peer{}, false
	}
	id, err := strconv.ParseUint(first(md, incarnationKey), 16, 64)
	return Peer{Task: t, Incarnation: id}, err == nil
}

func first(md metadata.MD, key string) string {
	if v := md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// admit refuses callers without the token, of another job, or whose task another process has, before anything of their message is
// read. Health checks need neither, so that probes work; they reveal nothing else.
func (n *Node) admit(ctx context.Context, _ string) error {
	if p, _ := grpcpeer.FromContext(ctx); p == nil || p.AuthInfo.(authInfo).probe {
		return status.Errorf(codes.Unimplemented, "%v speaks version %d of the protocol between tasks, its caller version 1 or none: %s", n.config.Task, wireVersion, sameVersion)
	}
	header, _ := metadata.FromIncomingContext(ctx)
	if err := n.checkToken(first(header, tokenKey)); err != nil {
		return err
	}
	caller, _ := ParseTask(first(header, taskKey))
	if err := n.checkJob(caller, header); err != nil {
		return err
	}
	if err := n.checkCalled(caller, header); err != nil {
		return err
	}
	if _, held := n.heldBy(); n.config.AnyJob && !held {
		return nil // callers may belong to several jobs
	}
	return n.checkClaim(ctx)
}

// welcome is admit for methods that this task has. The connection of an admitted caller is not closed to make room for others.
func (n *Node) welcome(ctx context.Context, method string) error {
	err := n.admit(ctx, method)
	if err == nil {
		admission.PlaceOf(ctx).Keep()
	}
	return err
}

// unknown refuses calls to methods that this task does not have.
func (n *Node) unknown(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	if err := n.admit(s.Context(), method); err != nil {
		return err
	}
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if n.server.GetServiceInfo()[service].Methods == nil {
		return status.Errorf(codes.Unimplemented, "unknown service %s", service)
	}
	return status.Errorf(codes.Unimplemented, "unknown method %s for service %s", name, service)
}

// checkCalled refuses callers that take this task for another one of the job, because their cluster lists the addresses in another
// order. A standing server has the place that its job gives it.
func (n *Node) checkCalled(caller Task, header metadata.MD) error {
	called := first(header, calledKey)
	if n.config.AnyJob || called == "" || called == n.config.Task.String() {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "this is %v, its caller %v takes it for %.64q: give all tasks of a job the same cluster in TF_CONFIG, with the addresses in the same order", n.config.Task, caller, called)
}

// checkToken compares a caller's token with the required one.
func (n *Node) checkToken(shown string) error {
	want := n.config.Security.Token
	if want == "" {
		return nil
	}
	got, _ := strings.CutPrefix(shown, bearer)
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(g[:], w[:]) == 1 {
		return nil
	}
	what := "a wrong job token"
	if got == "" {
		what = "no job token"
	}
	return status.Errorf(codes.Unauthenticated, "%v was called with %s: start every task with the same GOESTIMATOR_JOB_TOKEN", n.config.Task, what)
}
