package layout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/runconfig"
	"pgregory.net/rapid"
)

// TestLayouts: the tasks of each layout on four hosts.
func TestLayouts(t *testing.T) {
	for name, want := range map[string]string{
		"chief-workers":              "a chief-0 a:1, b worker-0 b:1, c worker-1 c:1, d worker-2 d:1",
		"chief-ps-workers-evaluator": "a chief-0 a:1, b ps-0 b:1, c worker-0 c:1, d evaluator-0 d:1",
		"master-ps-everywhere":       "a ps-0 a:1, a master-0 a:2, b ps-1 b:1, b worker-0 b:2, c ps-2 c:1, c worker-1 c:2, d ps-3 d:1, d worker-2 d:2",
	} {
		l, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := l.Place(Options{Hosts: []string{"a", "b", "c", "d"}, Port: 1, Servers: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range tasks {
			got = append(got, fmt.Sprint(p.Host, " ", p.Task, " ", p.Address))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, want)
		}
	}
}

// Every task of every layout can parse its TF_CONFIG, and exactly one task is the chief.
func TestEveryTaskIsUnderstood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(Layouts()).Draw(t, "layout")
		o := Options{Port: 2222, Servers: rapid.IntRange(1, 3).Draw(t, "servers")}
		for i := range l.MinHosts + o.Servers - 1 + rapid.IntRange(0, 4).Draw(t, "more hosts") {
			o.Hosts = append(o.Hosts, rapid.SampledFrom([]string{"h%d", "10.0.0.%d", "[fe80::%d]", "fe80::%d", "[fe80::%d%%eth0]:3000", "fe80::%d%%eth0", "h%d:3000"}).Draw(t, "host"))
			o.Hosts[i] = fmt.Sprintf(o.Hosts[i], i+1)
		}
		tasks, err := l.Place(o)
		if err != nil {
			t.Fatal(err)
		}
		chiefs := 0
		for _, p := range tasks {
			rc, err := runconfig.FromTFConfig(p.TFConfig)
			if err != nil {
				t.Fatal(err)
			}
			if a, listed := rc.ClusterSpec().Address(p.Task.Type, p.Task.Index); a != p.Address && (listed || rc.TaskType() != runconfig.Evaluator) {
				t.Fatalf("%v: address %s, expected %s", p.Task, a, p.Address)
			}
			if rc.IsChief() {
				chiefs++
			}
		}
		if chiefs != 1 {
			t.Fatalf("%d chiefs of %v", chiefs, tasks)
		}
	})
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		layout, hosts, want string
		port, servers       int
	}{
		{"chief-workers", "a", "got 1 hosts, expected 2 at least", 1, 0},
		{"chief-ps-workers-evaluator", "a,b,c,d", "got 4 hosts, expected 5 at least", 1, 2},
		{"chief-workers", "a,b,a", "chief-0 and worker-1 have the same address a:1", 1, 0},
		{"master-ps-everywhere", "a:1,a:2", "master-0 and ps-1 have the same address a:2", 1, 0},
		{"master-ps-everywhere", "a,b", "master-0: got port 65536 on a", 65535, 0},
		{"chief-workers", "a,b c", `host "b c": expected a host name`, 1, 0},
		{"chief-workers", "a,", `host "": expected a host name`, 1, 0},
		{"chief-workers", "a,b:x", `got port "x", expected a number`, 1, 0},
		{"chief-workers", "A,a", "chief-0 and worker-0 have the same address a:1", 1, 0},
		{"chief-workers", "::1,[0:0::1]:1", "chief-0 and worker-0 have the same address [0:0::1]:1", 1, 0},
		{"chief-workers", "a,b%c", `host "b%c": expected a host name`, 1, 0},
		{"chief-workers", "a,fe80::1%'$(id)'", `expected a host name`, 1, 0},
		{"chief-workers", "a,-b", `host "-b": expected a host name`, 1, 0},
		{"chief-workers", "a,b:c:d", `host "b:c:d": expected a host name`, 1, 0},
	} {
		l, err := Find(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Place(Options{Hosts: strings.Split(c.hosts, ","), Port: c.port, Servers: c.servers})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: got %v, expected %s", c.layout, c.hosts, err, c.want)
		}
	}
	if _, err := Find("mesh"); err == nil || !strings.Contains(err.Error(), "chief-workers") {
		t.Errorf("got %v", err)
	}
}
