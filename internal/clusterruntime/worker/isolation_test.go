package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestIsolatedSessions: each has its own resources until it is deleted, or its master returns as another one.
func TestIsolatedSessions(t *testing.T) {
	w := newPair()[0]
	create := func(handle string, incarnation int64) error {
		_, err := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: handle, IsolateSessionState: true, MasterTask: "/job:w/task:0", MasterIncarnation: incarnation})
		return err
	}
	for _, handle := range []string{"a", "b"} {
		if err := create(handle, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("a", 1); status.Code(err) != codes.AlreadyExists {
		t.Errorf("a session was made twice: %v", err)
	}
	if a, b := w.resourcesOf("a"), w.resourcesOf("b"); a == b || a == w.resources || w.resourcesOf("c") != w.resources {
		t.Error("isolated sessions share resources, or others do not")
	}
	if _, err := w.deleteSession(t.Context(), &rpcs.DeleteWorkerSessionRequest{SessionHandle: "a"}); err != nil || len(w.opened) != 1 {
		t.Errorf("%d sessions are left, %v", len(w.opened), err)
	}
	if err := create("c", 2); err != nil || len(w.opened) != 1 {
		t.Errorf("the master was started again: %d sessions, %v", len(w.opened), err)
	}
	for i := range maxApart - 1 {
		if err := create(fmt.Sprint(i), 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("more", 2); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too many sessions: %v", err)
	}
	if err := create("", 2); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no handle: %v", err)
	}
}

// TestOldestSessionGoes: if there are too many sessions, the least recently used one without graphs is removed.
func TestOldestSessionGoes(t *testing.T) {
	w := newPair()[0]
	for i := range maxOpened {
		w.opened[fmt.Sprint(i)] = &opened{used: time.Unix(int64(i), 0)}
	}
	w.sessions.of["0"] = &session{graphs: 1}
	if _, err := w.createSession(t.Context(), &rpcs.CreateWorkerSessionRequest{SessionHandle: "new"}); err != nil {
		t.Fatal(err)
	}
	if len(w.opened) != maxOpened || w.opened["0"] == nil || w.opened["1"] != nil || w.opened["new"] == nil {
		t.Errorf("%d sessions; the first %v, the second %v, the new one %v", len(w.opened), w.opened["0"], w.opened["1"], w.opened["new"])
	}
}
