package manager

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// TestIncompleteAtStart: the first config waits for a version that may still be being copied. It is tried again when its files have stayed
// the same for a poll, and after some time. Meanwhile no older version is served. Each change allows all attempts again.
func TestIncompleteAtStart(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.put("m", "2", "wrong")
	c := newClock()
	m := newManager(t, Options{Loader: d, Clock: c, Poll: time.Minute, Retries: 1, RetryInterval: time.Hour})
	done := make(chan error, 1)
	go func() { done <- m.Reload(testContext(t), d.cfg("m")) }()
	attempts := func(n int, state string) {
		t.Helper()
		m.until(t, state, func() bool {
			c.poke(time.Minute) // hints of the file system restart the time between polls
			return d.attempts("m", "2") == n && m.states("m") == state
		})
	}
	const waits = "2 loading (rpc error: code = Unknown desc = the model is wrong)"
	attempts(1, waits)
	if _, err := m.Acquire("m", servable.Version{}); err == nil {
		t.Error("an older version is served")
	}
	d.put("m", "2", "wrong ")
	attempts(2, waits)
	c.fire(t, time.Hour)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "{name: m version: 2} due to error: UNKNOWN: the model is wrong") {
		t.Errorf("the last attempt: %v", err)
	}

	d, c = newDisk(t), newClock() // the first manager still polls its own
	d.put("m", "2", "wrong")
	m = newManager(t, Options{Loader: d, Clock: c, Poll: time.Minute, Retries: 1, RetryInterval: time.Hour})
	go func() { done <- m.Reload(testContext(t), d.cfg("m")) }()
	attempts(1, waits)
	d.put("m", "2", "ok")
	attempts(2, "2 available")
	if err := <-done; err != nil {
		t.Error(err)
	}

	d.put("n", "1", "wrong")
	if err := m.Reload(testContext(t), d.cfg("m", "n")); err == nil || d.attempts("n", "1") != 1 {
		t.Errorf("a later config: %v after %d attempts", err, d.attempts("n", "1"))
	}
}

// TestAgain: a version is tried again when its files have changed since the last attempt and were the same in two polls.
func TestAgain(t *testing.T) {
	a := &again{changed: make(chan struct{})}
	for i, now := range []string{"1", "1", "2", "3", "3", "3"} {
		a.look(now, "1")
		changed := false
		select {
		case <-a.changed:
			changed = true
		default:
		}
		if changed != (i >= 4) {
			t.Errorf("poll %d: changed: %v", i, changed)
		}
	}
}

// TestNotIncomplete: a model that needs an unsupported op is not waited for, nor a failed model with Partial.
func TestNotIncomplete(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "lacking")
	d.put("n", "1", "wrong")
	for name, partial := range map[string]bool{"m": false, "n": true} {
		m := newManager(t, Options{Loader: d, Clock: newClock(), Retries: 1, Partial: partial})
		if err := m.Reload(testContext(t), d.cfg(name)); (err == nil) != partial || d.attempts(name, "1") != 1 {
			t.Errorf("%s: %v after %d attempts", name, err, d.attempts(name, "1"))
		}
	}
}

// TestIncompleteAtEnd: the log does not promise another attempt if the manager ends while one version loads and another waits for its turn.
func TestIncompleteAtEnd(t *testing.T) {
	d := newDisk(t)
	d.put("m", "1", "ok")
	d.put("n", "1", "ok")
	d.gate = make(chan struct{})
	var log bytes.Buffer
	m := newManager(t, Options{Loader: d, Clock: newClock(), FirstThreads: 1, Retries: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	done := make(chan error, 1)
	go func() { done <- m.Reload(testContext(t), d.cfg("m", "n")) }()
	m.until(t, "one loads", func() bool { return d.attempts("m", "1")+d.attempts("n", "1") == 1 })
	if err := m.Close(testContext(t)); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("the config is loaded")
	}
	if strings.Contains(log.String(), "tried again") {
		t.Error(log.String())
	}
}
