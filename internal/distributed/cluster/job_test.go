package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/goestimator/goestimator/runconfig"
)

func specOf(chief, worker, ps string) runconfig.ClusterSpec {
	return runconfig.NewClusterSpec(map[string][]string{"chief": {chief}, "worker": {worker}, "ps": {ps}})
}

func sparse(t *testing.T, text string) runconfig.ClusterSpec {
	t.Helper()
	rc, err := runconfig.FromTFConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	return rc.ClusterSpec()
}

func TestJobs(t *testing.T) {
	chief := Task{Job: "chief"}
	here := specOf("c:1", "w:1", "p:1")
	dynamic := sparse(t, `{"cluster":{"worker":{"0":"w:1"},"ps":["p:1"]},"task":{"type":"worker","index":0}}`)
	for name, c := range map[string]struct {
		mine, theirs   string // names
		spec           runconfig.ClusterSpec
		caller         Task
		admitted, held bool // by a node of this cluster, and by a standing one held by the chief's job
	}{
		"the same cluster":                          {"", "", here, worker0, true, true},
		"its chief":                                 {"", "", here, chief, true, true},
		"the server behind a proxy":                 {"", "", specOf("c:1", "w:1", "proxy:1"), worker0, true, true},
		"the chief behind a proxy":                  {"", "", specOf("proxy:1", "w:1", "p:1"), worker0, true, false},
		"another job's chief":                       {"", "", specOf("x:1", "y:1", "p:1"), chief, false, false},
		"another job's worker":                      {"", "", specOf("x:1", "y:1", "p:1"), worker0, false, false},
		"another job's chief without workers":       {"", "", runconfig.NewClusterSpec(map[string][]string{"chief": {"x:1"}, "ps": {"p:1"}}), chief, false, false},
		"our chief, of a cluster of another size":   {"", "", runconfig.NewClusterSpec(map[string][]string{"chief": {"c:1"}, "ps": {"p:1"}}), chief, false, false},
		"an evaluator in the list":                  {"", "", runconfig.NewClusterSpec(map[string][]string{"chief": {"c:1"}, "worker": {"w:1"}, "ps": {"p:1"}, "evaluator": {"e:1"}}), chief, true, true},
		"dynamic workers, who know little":          {"", "", dynamic, worker0, true, true},
		"the name":                                  {"a", "a", here, worker0, true, false},
		"the name, of another cluster":              {"a", "a", specOf("x:1", "y:1", "p:1"), worker0, true, false},
		"another name":                              {"a", "b", here, worker0, false, false},
		"a name that only the caller has":           {"", "b", here, worker0, false, false},
		"a name that only the server has":           {"a", "", here, worker0, false, true},
		"a name that looks like a cluster's digest": {"", strings.TrimPrefix(jobOf("", here, worker0).String(), "cluster:"), here, worker0, false, false},
		"a name that looks like a name on the wire": {"name:a", "a", here, worker0, false, false},
		"this machine by another of its names":      {"", "", specOf("C:1", "w:1", "p:1"), worker0, true, true},
	} {
		n := &Node{config: Config{Task: ps0, Spec: here}, job: jobOf(c.mine, here, ps0)}
		header := map[string][]string{jobKey: {jobOf(c.theirs, c.spec, c.caller).String()}}
		err := n.checkJob(c.caller, header)
		if (err == nil) != c.admitted || err != nil && status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v", name, err)
		}
		standing := &Node{config: Config{Task: ps0, Spec: specOf("else:1", "where:1", "p:1"), AnyJob: true}}
		if err := standing.checkJob(c.caller, header); err != nil {
			t.Errorf("%s: a free node: got %v", name, err)
		}
		holder := jobOf("", here, chief)
		standing.holder.Store(&holder)
		if err := standing.checkJob(c.caller, header); (err == nil) != c.held {
			t.Errorf("%s: a node that is held: got %v", name, err)
		}
	}
}

func TestCallersWithoutAJob(t *testing.T) {
	n := &Node{config: Config{Task: ps0}}
	for _, text := range []string{"", "name:", "cluster:", "cluster:1.2", "cluster:1.2.x", "cluster:1.2.3.4", "1.2.3", "job"} {
		if err := n.checkJob(worker0, map[string][]string{jobKey: {text}}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestJobOnTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := JobID{Name: rapid.StringMatching(`[-_.:/a-zA-Z0-9]{0,10}`).Draw(t, "name")}
		if j.Name == "" {
			j.Shape, j.Lead, j.Own = rapid.Uint64().Draw(t, "shape"), rapid.Uint64().Draw(t, "lead"), rapid.Uint64().Draw(t, "own")
		}
		if got, ok := parseJob(j.String()); !ok || got != j {
			t.Fatalf("%v is read as %v", j, got)
		}
	})
}

// TestHold: the first chief holds a standing node until that is closed.
func TestHold(t *testing.T) {
	ours, to := sockets(t, func(c *Config) {
		c.AnyJob = c.Task == ps0
		if c.Task == worker0 {
			c.JobName = "ours"
		}
	}, echo())
	theirs, err := Open(Config{Task: worker0, Spec: ours.Spec(), JobName: "theirs", Log: ours.config.Log})
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	for _, n := range []*Node{ours, theirs} {
		if _, err := n.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
			t.Errorf("while nobody holds it: got %v", err)
		}
	}
	if err := to.Hold(incoming(t, ours)); err != nil {
		t.Fatal(err)
	}
	if err := to.Hold(incoming(t, ours)); err != nil {
		t.Errorf("again: got %v", err)
	}
	if err := to.Hold(incoming(t, theirs)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another job: got %v", err)
	}
	if _, err := ours.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{}); err != nil {
		t.Errorf("the holder: got %v", err)
	}
	_, called := theirs.Call(testContext(t), ps0, "/test.Echo/Echo", &Frame{})
	s, streamed := theirs.Stream(testContext(t), ps0, "/test.Echo/Stream")
	if streamed == nil {
		_, streamed = s.Recv()
	}
	for what, err := range map[string]error{"call": called, "stream": streamed} {
		if !errors.Is(err, ErrOtherJob) || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), `serves job "ours", the caller /job:worker/task:0 is of job "theirs"`) {
			t.Errorf("%s of another job: got %v", what, err)
		}
	}
	if err := theirs.Healthy(testContext(t), ps0); err != nil {
		t.Errorf("a probe: got %v", err)
	}
}

// TestTakenForAnotherTask: a caller whose cluster lists addresses in another order is refused before anything is done for it.
func TestTakenForAnotherTask(t *testing.T) {
	from, to := sockets(t, nil, echo())
	conn := rawConn(t, from, to)
	for called, refused := range map[Task]bool{ps0: false, {Job: runconfig.PS, Index: 1}: true, worker0: true} {
		err := conn.Invoke(from.identify(testContext(t), called), "/test.Echo/Echo", []byte("x"), new(int), grpc.ForceCodecV2(rawCodec{}))
		if got := status.Code(err) == codes.PermissionDenied && strings.Contains(err.Error(), "this is /job:ps/task:0, its caller"); got != refused {
			t.Errorf("called as %v: %v", called, err)
		}
	}
}

// incoming is a handler's context after a call from a node.
func incoming(t *testing.T, from *Node) context.Context {
	t.Helper()
	md, _ := metadata.FromOutgoingContext(from.identify(t.Context(), ps0))
	return metadata.NewIncomingContext(t.Context(), md)
}
