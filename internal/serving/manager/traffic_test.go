package manager

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/serving/servable"
)

// shares sends a model 200 requests and returns each version's share.
func (m *Manager) shares(t *testing.T, name string) map[int64]float64 {
	t.Helper()
	got := map[int64]float64{}
	for range 200 {
		h, err := m.Acquire(name, servable.Version{})
		if err != nil {
			t.Fatal(err)
		}
		got[h.ID().Version] += 1. / 200
		h.Release()
	}
	return got
}

func near(got, want map[int64]float64) bool {
	for v := range 5 {
		if math.Abs(got[int64(v)]-want[int64(v)]) > 0.015 {
			return false
		}
	}
	return true
}

// Requests that name no version are divided; requests that name one are not. Versions that the rules name are served although the policy
// does not pick them.
func TestTraffic(t *testing.T) {
	d := newDisk(t)
	for _, v := range []string{"1", "2", "3"} {
		d.put("m", v, "ok")
	}
	m := newManager(t, Options{Loader: d, Poll: time.Hour, Clock: newClock()})
	reload := func(fields string) {
		t.Helper()
		if err := m.Reload(testContext(t), d.cfg("m "+fields)); err != nil {
			t.Fatal(err)
		}
	}
	reload(`traffic {version: 1 weight: 80} traffic {version: 2 weight: 20} shadow {version: 3 percent: 50}`)
	expect(t, "versions", m.states("m"), "3 available, 2 available, 1 available")
	if got := m.shares(t, "m"); !near(got, map[int64]float64{1: 0.8, 2: 0.2}) {
		t.Errorf("got %v", got)
	}
	for _, v := range []servable.Version{{Number: 3, Exact: true}, {Number: 1, Exact: true, Key: "x"}} {
		h, err := m.Acquire("m", v)
		if err != nil || h.ID().Version != v.Number {
			t.Fatalf("%+v: %v", v, err)
		}
		h.Release()
	}
	for _, v := range []servable.Version{{Main: true}, {Key: "somebody"}} {
		first := int64(0)
		for range 20 {
			h, err := m.Acquire("m", v)
			if err != nil || first != 0 && h.ID().Version != first {
				t.Fatalf("%+v: %v, %v", v, h, err)
			}
			first = h.ID().Version
			h.Release()
		}
	}
	u := m.Usage("m")
	expect(t, "usage", fmt.Sprint(u[1].Share, u[2].Share, u[3].Share, u[1].Shadow, u[2].Shadow, u[3].Shadow), "0.8 0.2 0 0 0 0.5")

	copies := 0
	for range 100 {
		if m.Shadow(servable.ID{Name: "m", Version: 1}) != nil {
			copies++
		}
	}
	if copies < 49 || copies > 51 {
		t.Errorf("%d of 100 requests are copied, expected 50", copies)
	}
	if m.Shadow(servable.ID{Name: "m", Version: 3}) != nil || m.Shadow(servable.ID{Name: "n", Version: 1}) != nil {
		t.Error("a request to the shadow itself, or to another model, is copied")
	}

	reload(`version_labels {key: "canary" value: 3} traffic {version: 2 weight: 1} traffic {version_label: "canary" weight: 3}`)
	if got := m.shares(t, "m"); !near(got, map[int64]float64{2: 0.25, 3: 0.75}) {
		t.Errorf("other weights: got %v", got)
	}
	m.until(t, "end of version 1", func() bool { return m.states("m") == "3 available, 2 available, 1 end" })
	if m.Shadow(servable.ID{Name: "m", Version: 2}) != nil {
		t.Error("copies without a shadow")
	}
	if err := m.Reload(testContext(t), d.cfg(`m traffic {version: 2 weight: 0}`)); err == nil {
		t.Error("weights of 0 are taken")
	}
	if got := m.shares(t, "m"); !near(got, map[int64]float64{2: 0.25, 3: 0.75}) {
		t.Errorf("after a config that is wrong: got %v", got)
	}
	reload("")
	if got := m.shares(t, "m"); !near(got, map[int64]float64{3: 1}) {
		t.Errorf("without weights: got %v", got)
	}
}

// A version that goes, or does not exist, leaves its share to the others; if all are gone, the newest version answers.
func TestTrafficOfVersionsThatGo(t *testing.T) {
	d := newDisk(t)
	for _, v := range []string{"1", "2", "4"} {
		d.put("m", v, "ok")
	}
	c := newClock()
	m := newManager(t, Options{Loader: d, Poll: time.Minute, Clock: c})
	cfg := d.cfg(`m traffic {version: 1 weight: 50} traffic {version: 2 weight: 25} traffic {version: 3 weight: 25}`)
	if err := m.Reload(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	if got := m.shares(t, "m"); !near(got, map[int64]float64{1: 2. / 3, 2: 1. / 3}) {
		t.Errorf("without version 3: got %v", got)
	}
	d.remove("m", "1")
	m.until(t, "end of version 1", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "4 available, 2 available, 1 end"
	})
	if got := m.shares(t, "m"); !near(got, map[int64]float64{2: 1}) {
		t.Errorf("without version 1: got %v", got)
	}
	d.put("m", "3", "ok")
	m.until(t, "version 3", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "4 available, 3 available, 2 available, 1 end"
	})
	if got := m.shares(t, "m"); !near(got, map[int64]float64{2: 0.5, 3: 0.5}) {
		t.Errorf("with version 3: got %v", got)
	}
	d.remove("m", "2")
	d.remove("m", "3")
	m.until(t, "end of versions 2 and 3", func() bool {
		c.poke(time.Minute)
		return m.states("m") == "4 available, 3 end, 2 end, 1 end"
	})
	if got := m.shares(t, "m"); !near(got, map[int64]float64{4: 1}) {
		t.Errorf("without any: got %v", got)
	}
}

// Each named version that does not exist causes a warning.
func TestWarningOfAllMissingVersions(t *testing.T) {
	d := newDisk(t)
	d.put("m", "2", "ok")
	cfg := d.cfg(`m traffic {version: 1 weight: 50} traffic {version: 2 weight: 25} traffic {version: 3 weight: 25}`)
	_, warning, err := scanConfig(cfg.GetModelConfigList().GetConfig()[0], scanResult{}, asked)
	if err != nil || strings.Count(warning, "was not found") != 2 || !strings.Contains(warning, "Version 1 ") || !strings.Contains(warning, "; Version 3 ") {
		t.Errorf("got %q and %v, expected versions 1 and 3", warning, err)
	}
}

// While versions change, no request fails.
func TestTrafficWhileReloading(t *testing.T) {
	d := newDisk(t)
	for _, v := range []string{"1", "2", "3"} {
		d.put("m", v, "ok")
	}
	m := newManager(t, Options{Loader: d, Poll: time.Hour, Clock: newClock()})
	if err := m.Reload(testContext(t), d.cfg(`m traffic {version: 1 weight: 1} traffic {version: 2 weight: 1}`)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				v := servable.Version{}
				if i%2 == 0 {
					v.Key = fmt.Sprint(n)
				}
				h, err := m.Acquire("m", v)
				if err != nil {
					t.Error(err)
					return
				}
				h.Release()
			}
		})
	}
	for range 5 {
		for _, fields := range []string{`traffic {version: 2 weight: 1} traffic {version: 3 weight: 1}`, `traffic {version: 1 weight: 1} traffic {version: 3 weight: 1}`, ``} {
			if err := m.Reload(testContext(t), d.cfg("m "+fields)); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	work.Wait()
}
