package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// What every call carries.
const (
	taskKey        = "goestimator-task"
	incarnationKey = "goestimator-incarnation"
	tokenKey       = "authorization"
	bearer         = "Bearer "
	healthPrefix   = "/grpc.health.v1.Health/"
)

// identify adds who calls, and the token, to what goes with a call.
func (n *Node) identify(ctx context.Context) context.Context {
	kv := []string{taskKey, n.config.Task.String(), incarnationKey, strconv.FormatUint(n.incarnation, 16)}
	if t := n.config.Security.Token; t != "" {
		kv = append(kv, tokenKey, bearer+t)
	}
	return metadata.AppendToOutgoingContext(ctx, kv...)
}

// PeerOf returns the caller of a handler as it declared itself; ok is false
// where it did not.
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

// admit refuses callers without the token before anything of their message is
// read. Health checks need none, so that probes work; they tell nothing else.
func (n *Node) admit(ctx context.Context, info *tap.Info) (context.Context, error) {
	want := n.config.Security.Token
	if want == "" || strings.HasPrefix(info.FullMethodName, healthPrefix) {
		return ctx, nil
	}
	got, _ := strings.CutPrefix(first(info.Header, tokenKey), bearer)
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(g[:], w[:]) == 1 {
		return ctx, nil
	}
	what := "a wrong job token"
	if got == "" {
		what = "no job token"
	}
	return nil, status.Errorf(codes.Unauthenticated, "%v was called with %s: start every task with the same GOESTIMATOR_JOB_TOKEN", n.config.Task, what)
}
