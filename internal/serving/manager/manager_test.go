package manager

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
	config "github.com/wamuir/graft/tensorflow/serving/config_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// cfg is the config of models at d's base paths: "name {policy and labels}" each.
func (d *disk) cfg(models ...string) *config.ModelServerConfig {
	var b strings.Builder
	b.WriteString("model_config_list {")
	for _, m := range models {
		name, rest, _ := strings.Cut(m, " ")
		fmt.Fprintf(&b, "config {name: %q base_path: %q model_platform: \"tensorflow\" %s}\n", name, d.base(name), rest)
	}
	return parse(d.t, b.String()+"}")
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return status.Code(err).String() + ": " + status.Convert(err).Message()
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestLifecycle(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	c := newClock()
	m := newManager(t, Options{Loader: d, Poll: time.Minute, Clock: c})
	if m.Ready() {
		t.Error("ready before the first config")
	}
	if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	if !m.Ready() {
		t.Error("not ready after the first config")
	}
	expect(t, "first version", m.states("m"), "1 available")
	h, err := m.Acquire("m", servable.Version{})
	if err != nil {
		t.Fatal(err)
	}

	d.put("m", "2", "ok")
	m.until(t, "version 2, and 1 is in use", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "2 available, 1 unloading"
	})
	if _, err := h.Model().Run(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	h.Release()
	h.Release() // only the first counts
	m.until(t, "end of version 1", func() bool { return m.states("m") == "2 available, 1 end" })

	d.put("m", "3", "wrong")
	failed := "3 end (rpc error: code = Unknown desc = the model is wrong), 2 available, 1 end"
	m.until(t, "end of version 3", func() bool {
		c.poke(time.Minute)
		return m.states("m") == failed
	})
	c.tick(t, time.Minute)
	c.tick(t, time.Minute)
	if n := d.attempts("m", "3"); n != 1 {
		t.Errorf("a failed version was tried %d times, want 1: nothing has changed", n)
	}
	d.put("m", "3", "ok now")
	m.until(t, "version 3", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "3 available, 2 end, 1 end"
	})

	if err := os.Rename(d.base("m"), d.base("gone")); err != nil {
		t.Fatal(err)
	}
	c.tick(t, time.Minute)
	c.tick(t, time.Minute)
	expect(t, "base path gone", m.states("m"), "3 available, 2 end, 1 end")
	d.put("m", "notes", "")
	m.until(t, "end of all versions", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "3 end, 2 end, 1 end"
	})
	_, err = m.Acquire("m", servable.Version{})
	expect(t, "nothing left", text(err), "NotFound: Servable not found for request: Latest(m)")
}

func TestAcquireErrors(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.put("m", "2", "ok")
	m := newManager(t, Options{Loader: d, LabelsForUnavailable: true})
	if err := m.Reload(testContext(t), d.cfg(`m model_version_policy {all {}} version_labels {key: "old" value: 1} version_labels {key: "none" value: 9}`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		version servable.Version
		want    string
	}{
		{"m", servable.Version{}, "2"},
		{"m", servable.Version{Number: 1, Exact: true}, "1"},
		{"m", servable.Version{Label: "old"}, "1"},
		{"m", servable.Version{Number: 0, Exact: true}, "NotFound: Servable not found for request: Specific(m, 0)"},
		{"m", servable.Version{Label: "none"}, "NotFound: Servable not found for request: Specific(m, 9)"},
		{"m", servable.Version{Label: "x"}, "InvalidArgument: Unrecognized servable version label: x"},
		{"n", servable.Version{}, "NotFound: Servable not found for request: Latest(n)"},
		{"n", servable.Version{Number: 3, Exact: true}, "NotFound: Servable not found for request: Specific(n, 3)"},
		{"n", servable.Version{Label: "x"}, "InvalidArgument: Unrecognized servable version label: x"},
	} {
		h, err := m.Acquire(c.name, c.version)
		got := text(err)
		if err == nil {
			got = fmt.Sprint(h.ID().Version)
			h.Release()
		}
		expect(t, fmt.Sprintf("%s %+v", c.name, c.version), got, c.want)
	}
}

// faultID is the number of a panic.
var faultID = regexp.MustCompile("under [0-9a-f]{12}")

func TestReload(t *testing.T) {
	d := newDisk(t)
	for _, v := range []string{"1", "2", "3"} {
		d.put("a", v, "ok")
		d.put("b", v, "ok")
	}
	d.put("wrong", "1", "wrong")
	d.put("panic", "1", "panic")
	d.put("half", "1", "ok")
	d.put("half", "2", "wrong")
	m := newManager(t, Options{Loader: d}) // scans at each Reload only
	steps := []struct{ config, err, a, b string }{
		{`a`, "", "3 available", ""},
		{`a version_labels {key: "x" value: 2}`, "FailedPrecondition: Request to assign label to version 2 of model a, which is not currently available for inference", "3 available", ""},
		// Unlike in TensorFlow Serving, a label may name a version from the same config.
		{`a model_version_policy {specific {versions: 2 versions: 3}} version_labels {key: "x" value: 2}`, "", "3 available, 2 available", ""},
		{`a model_version_policy {specific {versions: 2}} version_labels {key: "x" value: 2}|b`, "", "3 end, 2 available", "3 available"},
		{`b model_version_policy {all {}}`, "", "3 end, 2 end", "3 available, 2 available, 1 available"},
		{`a|a`, "InvalidArgument: Illegal to list model a multiple times in config list", "3 end, 2 end", "3 available, 2 available, 1 available"},
		{`b|wrong|none|panic`, "Unknown: 3 model(s) did not become available: {{{name: none} due to error: NOT_FOUND: Could not find base path $/none for servable none with error open $/none: no such file or directory}, " +
			"{{name: panic version: 1} due to error: INTERNAL: loading panicked: the server's log tells more under ID}, {{name: wrong version: 1} due to error: UNKNOWN: the model is wrong}, }", "3 end, 2 end", "3 available, 2 end, 1 end"},
		{`b|half model_version_policy {all {}}`, "", "3 end, 2 end", "3 available, 2 end, 1 end"},
		{`a|b`, "", "3 available, 2 end", "3 available, 2 end, 1 end"},
		{``, "", "3 end, 2 end", "3 end, 2 end, 1 end"},
	}
	for _, s := range steps {
		var models []string
		if s.config != "" {
			models = strings.Split(s.config, "|")
		}
		err := m.Reload(testContext(t), d.cfg(models...))
		expect(t, s.config, faultID.ReplaceAllString(strings.ReplaceAll(text(err), d.root, "$"), "under ID"), s.err)
		m.until(t, s.config+": a "+s.a+", b "+s.b, func() bool { return m.states("a") == s.a && m.states("b") == s.b })
	}
	if got := m.Models(); len(got) != 0 {
		t.Errorf("models of an empty config: %v", got)
	}
}

// TestLabelsOfAnAbandonedReload: the caller stops waiting before the model is available.
func TestLabelsOfAnAbandonedReload(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	m := newManager(t, Options{Loader: d})
	expect(t, "first", text(m.Reload(testContext(t), d.cfg("m"))), "")
	d.put("m", "2", "ok")
	d.gate = make(chan struct{})
	ctx, leave := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- m.Reload(ctx, d.cfg(`m version_labels {key: "x" value: 2}`)) }()
	m.until(t, "the load", func() bool { return d.attempts("m", "2") == 1 })
	leave()
	expect(t, "abandoned", text(<-done), "Canceled: context canceled")
	close(d.gate)
	m.until(t, "the label", func() bool {
		h, err := m.Acquire("m", servable.Version{Label: "x"})
		if err == nil {
			h.Release()
		}
		return err == nil
	})
}

// TestLabelsMove: a label in use can be moved only to an available version.
func TestLabelsMove(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	m := newManager(t, Options{Loader: d, LabelsForUnavailable: true})
	for _, s := range []struct{ labels, err string }{
		{`version_labels {key: "x" value: 7}`, ""},
		{`version_labels {key: "x" value: 7} version_labels {key: "y" value: 8}`, ""},
		{`version_labels {key: "x" value: 9}`, "FailedPrecondition: Request to assign label to version 9 of model m, which is not currently available for inference"},
		{`version_labels {key: "x" value: 1}`, ""},
		{`version_labels {key: "y" value: 8}`, ""},
	} {
		expect(t, s.labels, text(m.Reload(testContext(t), d.cfg("m "+s.labels))), s.err)
	}
	_, err := m.Acquire("m", servable.Version{Label: "x"})
	expect(t, "a label that is gone", text(err), "InvalidArgument: Unrecognized servable version label: x")
}

// TestBasePathChanges: the same version number at another base path is another model.
func TestBasePathChanges(t *testing.T) {
	d := newDisk(t)
	d.put("a", "1", "ok")
	d.put("b", "1", "ok")
	m := newManager(t, Options{Loader: d})
	if err := m.Reload(testContext(t), Single(map[string]string{"m": d.base("a")})); err != nil {
		t.Fatal(err)
	}
	if err := m.Reload(testContext(t), Single(map[string]string{"m": d.base("b")})); err != nil {
		t.Fatal(err)
	}
	if d.attempts("b", "1") != 1 {
		t.Error("the version at the new base path was not loaded")
	}
	m.until(t, "the old one is closed", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.closed) == 1
	})
	m.until(t, "available", func() bool { return m.states("m") == "1 available" })
}

// TestBasePathGone: a reload that moves a model to an empty path reports it, and the old version stays in service.
func TestBasePathGone(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	m := newManager(t, Options{Loader: d, Clock: newClock()})
	if err := m.Reload(testContext(t), d.cfg("m")); err != nil {
		t.Fatal(err)
	}
	err := m.Reload(testContext(t), Single(map[string]string{"m": d.base("missing")}))
	if status.Code(err) != codes.Unknown || !strings.Contains(text(err), "{name: m} due to error: NOT_FOUND: Could not find base path "+d.base("missing")) {
		t.Errorf("got %v", err)
	}
	expect(t, "the old version", m.states("m"), "1 available")
}

func TestRetries(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "busy")
	c := newClock()
	var warning []string
	m := newManager(t, Options{Loader: d, Clock: c, Retries: 2, RetryInterval: time.Hour, Loaded: func(l Load) {
		warning = append(warning, fmt.Sprintf("%v %v", l.ID, l.Err != nil))
	}})
	done := make(chan error, 1)
	go func() { done <- m.Reload(testContext(t), d.cfg("m")) }()
	c.fire(t, time.Hour)
	c.waiter(t, time.Hour, nil)
	d.put("m", "1", "ok")
	c.fire(t, time.Hour)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(warning); got != "[{name: m version: 1} true {name: m version: 1} true {name: m version: 1} false]" {
		t.Errorf("told %s", got)
	}
}

// TestAbandonedRetries: a version that nobody wants any more is not tried again until it is wanted again.
func TestAbandonedRetries(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.put("m", "2", "busy")
	c := newClock()
	m := newManager(t, Options{Loader: d, Clock: c, Retries: 9, RetryInterval: time.Hour})
	if err := m.Reload(testContext(t), d.cfg("m model_version_policy {specific {versions: 1}}")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Reload(testContext(t), d.cfg("m")) }()
	c.waiter(t, time.Hour, nil)
	d.put("m", "2", "wrong")
	c.fire(t, time.Hour)
	if err := <-done; err == nil {
		t.Fatal("version 2 did not fail")
	}
	m.until(t, "1 stays", func() bool {
		return strings.HasPrefix(m.states("m"), "2 end (") && strings.HasSuffix(m.states("m"), ", 1 available")
	})
}

func TestWarmUpAndWrap(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	var order []string
	fail := true
	m := newManager(t, Options{
		Loader: d,
		Wrap: func(_ servable.ID, inner servable.Model, dir string) (servable.Model, error) {
			order = append(order, "wrap")
			return inner, nil
		},
		WarmUp: func(_ context.Context, id servable.ID, w servable.Model, dir string) error {
			order = append(order, "warm up "+strings.TrimPrefix(dir, d.root))
			if fail {
				return status.Error(codes.Unimplemented, "no such request")
			}
			return nil
		},
	})
	expect(t, "failing warm-up", text(m.Reload(testContext(t), d.cfg("m"))),
		"Unknown: 1 model(s) did not become available: {{{name: m version: 1} due to error: UNIMPLEMENTED: warm-up: no such request}, }")
	if len(d.closed) != 1 {
		t.Errorf("closed %v: the model whose warm-up failed is to be closed", d.closed)
	}
	fail = false
	if err := m.Reload(testContext(t), d.cfg("m model_version_policy {all {}}")); err != nil { // a changed config tries again
		t.Fatal(err)
	}
	expect(t, "order", fmt.Sprint(order), "[wrap warm up /m/1 wrap warm up /m/1]")
}

// TestStartWait: the first config waits for models that are not there yet, as long as the option says.
func TestStartWait(t *testing.T) {
	d := newDisk(t)
	c := newClock()
	m := newManager(t, Options{Loader: d, Clock: c, Poll: time.Minute, StartWait: time.Hour})
	done := make(chan error, 1)
	go func() { done <- m.Reload(testContext(t), d.cfg("m")) }()
	c.waiter(t, time.Hour, nil)
	c.tick(t, time.Minute)
	d.put("m", "1", "ok")
	c.tick(t, time.Minute)
	c.tick(t, time.Minute) // its files are the same as a poll ago
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	expect(t, "after the wait", m.states("m"), "1 available")

	c = newClock()
	m = newManager(t, Options{Loader: d, Clock: c, Poll: time.Minute, StartWait: time.Hour})
	go func() { done <- m.Reload(testContext(t), d.cfg("none")) }()
	c.fire(t, time.Hour)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "Could not find base path") {
		t.Errorf("got %v, want the base path that is missing", err)
	}
}

// TestHistoryIsBounded: ended versions are forgotten, the oldest first.
func TestHistoryIsBounded(t *testing.T) {
	d := newDisk(t)
	m := newManager(t, Options{Loader: d})
	for i := range historyLimit + 20 {
		d.put("m", fmt.Sprint(i), "ok")
		if err := m.Reload(testContext(t), d.cfg(fmt.Sprintf("m model_version_policy {specific {versions: %d}}", i))); err != nil {
			t.Fatal(err)
		}
	}
	m.until(t, "all but one end", func() bool {
		return strings.Count(m.states("m"), " end") == historyLimit && !strings.Contains(m.states("m"), "unloading")
	})
	got := m.Status("m")
	if oldest := got[len(got)-1].ID; len(got) != historyLimit+1 || oldest.Version < 10 { // they do not end strictly in order
		t.Errorf("got %d versions, the oldest %v; want the newest %d", len(got), oldest, historyLimit+1)
	}
}

// TestReloadEndsWithItsContext: a long load does not block the caller beyond its context.
func TestReloadEndsWithItsContext(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.gate = make(chan struct{})
	m := newManager(t, Options{Loader: d})
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- m.Reload(ctx, d.cfg("m")) }()
	m.until(t, "loading", func() bool { return m.states("m") == "1 loading" })
	cancel()
	expect(t, "cancelled", text(<-done), "Canceled: context canceled")
	d.gate <- struct{}{}
	m.until(t, "available", func() bool { return m.states("m") == "1 available" })
}

// TestPartial: with this option, models that fail at the start do not keep the others from being served.
func TestPartial(t *testing.T) {
	d := newDisk(t)
	d.put("good", "1", "ok")
	d.put("wrong", "1", "wrong")
	m := newManager(t, Options{Loader: d, Partial: true})
	if err := m.Reload(testContext(t), d.cfg("good", "wrong")); err != nil {
		t.Fatal(err)
	}
	if !m.Ready() || m.states("good") != "1 available" {
		t.Errorf("ready: %v, good: %s", m.Ready(), m.states("good"))
	}
	if err := m.Reload(testContext(t), d.cfg("good", "none")); err == nil {
		t.Error("a later config with a model that fails gives no error")
	}
}
