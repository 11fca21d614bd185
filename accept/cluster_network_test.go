package accept

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
)

// TestClusterBlackHole drops all traffic between a worker and a parameter
// server: the worker notices and, after rejoin_secs, ends with 138; the others continue.
func TestClusterBlackHole(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 ps-0 ps-1", set(asynchronous, "train.max_steps=100000", "rpc.rejoin_secs=2")...)
	p := r.proxy("worker-0", "ps-1")
	r.start()
	r.reach("worker-0", 100)
	p.Drop()
	dropped := time.Now()
	r.await("worker-0", `warn: .*/job:ps/task:1`)
	noticed := time.Since(dropped)
	r.exit("worker-0", 138)
	t.Logf("noticed after %v, ended after %v", noticed, time.Since(dropped))
	last := lastLine(r.tasks["worker-0"].all())
	if !strings.Contains(last, "/job:ps/task:1") {
		t.Errorf("the last line does not name the server: %s", last)
	}
	at := r.step("chief-0")
	r.reach("chief-0", at+100)
}

// lastLine is the last line of a log.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}

// TestClusterBlackHoleOfDefaults is TestClusterBlackHole with the default timeouts.
func TestClusterBlackHoleOfDefaults(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=1000000", "rpc.peer_timeout_secs=30")...)
	p := r.proxy("worker-0", "ps-0")
	r.start()
	r.reach("worker-0", 100)
	p.Drop()
	dropped := time.Now()
	r.await("worker-0", `warn: .*/job:ps/task:0`)
	noticed := time.Since(dropped)
	t.Logf("noticed after %v", noticed)
	if noticed > 31*time.Second {
		t.Errorf("the black hole was noticed after %v, expected 30 s", noticed)
	}
	p.Heal()
	healed := r.step("worker-0")
	r.reach("worker-0", healed+200)
	t.Logf("steps again after %v", time.Since(dropped))
	r.running("chief-0", "ps-0")
}

// TestClusterBlackHoleInRing drops all traffic between two workers of an
// all-reduce job: all give up, or continue from the last checkpoint once the network is back.
func TestClusterBlackHoleInRing(t *testing.T) {
	args := set(allReduce, "train.max_steps=100000", "rpc.rejoin_secs=5")
	t.Run("for_ever", func(t *testing.T) {
		whole(t)
		r := newRig(t, "chief-0 worker-0 worker-1", args...)
		p := r.proxy("worker-0", "worker-1")
		r.start()
		r.reach("chief-0", 250)
		p.Drop()
		dropped := time.Now()
		r.await("chief-0", `synchronize again`)
		t.Logf("noticed after %v", time.Since(dropped))
		for _, name := range []string{"chief-0", "worker-0", "worker-1"} {
			r.exit(name, 138)
			t.Logf("%s ended after %v: %s", name, time.Since(dropped), lastLine(r.tasks[name].all()))
		}
	})
	t.Run("healed", func(t *testing.T) {
		whole(t)
		r := newRig(t, "chief-0 worker-0 worker-1", set(args, "train.max_steps=1500", "rpc.rejoin_secs=20")...)
		p := r.proxy("worker-0", "worker-1")
		r.start()
		r.reach("chief-0", 250)
		p.Drop()
		dropped := time.Now()
		r.await("chief-0", `synchronize again`)
		p.Heal()
		r.await("chief-0", `restored checkpoint`)
		r.ended("chief-0", 1500, 1500)
		t.Logf("finished %v after", time.Since(dropped))
		r.exit("worker-0", 0)
		r.exit("worker-1", 0)
	})
}

// TestClusterSlowPeer delays traffic between tasks, and stops a process for
// less than the peer timeout: no task counts as lost.
func TestClusterSlowPeer(t *testing.T) {
	for name, args := range map[string][]string{"asynchronous": asynchronous, "all_reduce": allReduce} {
		t.Run(name, func(t *testing.T) {
			whole(t)
			tasks, peer := "chief-0 ps-0", "ps-0"
			if name == "all_reduce" {
				tasks, peer = "chief-0 worker-0", "worker-0"
			}
			r := newRig(t, tasks, set(args, "train.max_steps=400")...)
			p := r.proxy("chief-0", peer)
			r.start()
			at := r.reach("chief-0", 40)
			p.Delay(5 * time.Millisecond)
			r.reach("chief-0", at+20)
			r.signal(syscall.SIGSTOP, peer)
			time.Sleep(1500 * time.Millisecond) // the fault, shorter than peer_timeout_secs
			r.signal(syscall.SIGCONT, peer)
			r.reach("chief-0", at+60)
			p.Heal()
			r.ended("chief-0", 400, 400)
			r.exit(peer, 0)
			for task, x := range r.tasks {
				if strings.Contains(x.all(), "synchronize again") {
					t.Errorf("%s took a slow peer for lost", task)
				}
			}
		})
	}
}

// TestClusterFrozenPeer stops a process permanently, which looks like a black hole.
func TestClusterFrozenPeer(t *testing.T) {
	whole(t)
	r := newRig(t, "chief-0 worker-0", set(allReduce, "train.max_steps=1000", "rpc.rejoin_secs=30")...)
	r.start()
	r.reach("chief-0", 250)
	r.signal(syscall.SIGSTOP, "worker-0")
	frozen := time.Now()
	r.await("chief-0", `synchronize again`)
	t.Logf("noticed after %v (rpc.peer_timeout_secs=3)", time.Since(frozen))
	r.kill("worker-0")
	r.start("worker-0")
	r.exit("worker-0", 0)
	r.ended("chief-0", 1000, 1000)
}

// TestClusterProxyVariables sets HTTP proxies that do not exist.
func TestClusterProxyVariables(t *testing.T) {
	long(t)
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=200")...)
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "grpc_proxy"} {
		r.env = append(r.env, name+"=http://127.0.0.1:9", strings.ToUpper(name)+"=http://127.0.0.1:9")
	}
	r.env = append(r.env, "no_proxy=", "NO_PROXY=")
	r.start()
	r.ended("chief-0", 200, 201)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
}

// TestClusterToken starts a worker without the job's token, or with another one: it is
// refused immediately, and the job continues.
func TestClusterToken(t *testing.T) {
	for name, args := range map[string][]string{"parameter_server": asynchronous, "all_reduce": allReduce} {
		t.Run(name, func(t *testing.T) {
			if !long(t) && name == "all_reduce" {
				t.Skip("skipped: not part of the short form; set GOESTIMATOR_ACCEPT=1")
			}
			tasks, rest := "chief-0 worker-0 worker-1 ps-0", []string{"chief-0", "worker-1", "ps-0"}
			if name == "all_reduce" {
				tasks, rest = "chief-0 worker-0", []string{"chief-0"}
			}
			r := newRig(t, tasks, set(args, "train.max_steps=6000")...) // long enough for two refused starts
			r.env = []string{"GOESTIMATOR_JOB_TOKEN=correct-horse"}
			x := r.tasks["worker-0"]
			r.start(rest...)
			for _, token := range []string{"", "another"} {
				x.env = []string{"GOESTIMATOR_JOB_TOKEN=" + token}
				r.start("worker-0")
				took := r.exit("worker-0", 1)
				text, _ := x.text()
				t.Logf("token %q: refused after %v: %s", token, took, lastLine(text))
				if !strings.Contains(text, "GOESTIMATOR_JOB_TOKEN") || strings.Contains(text, "correct-horse") {
					t.Errorf("the error does not say what is wrong, or tells too much:\n%s", text)
				}
				r.running("chief-0")
			}
			x.env = nil
			r.start("worker-0")
			r.ended("chief-0", 6000, 6002)
			r.exit("worker-0", 0)
		})
	}
}

// TestClusterTLS trains with mutual TLS; a worker without it is refused.
func TestClusterTLS(t *testing.T) {
	whole(t)
	a := clustertest.NewAuthority(t)
	cert, key := a.Issue(t, t.TempDir(), clustertest.Certificate{})
	r := newRig(t, "chief-0 worker-0 ps-0", set(asynchronous, "train.max_steps=3000",
		"rpc.security=tls", "rpc.client_auth=true", "rpc.ca_file="+a.CAFile, "rpc.cert_file="+cert, "rpc.key_file="+key)...)
	r.start("chief-0", "ps-0")
	plain := r.tasks["worker-0"]
	plain.args = set(nil, "rpc.security=auto", "rpc.client_auth=false", "rpc.ca_file=", "rpc.cert_file=", "rpc.key_file=")
	r.start("worker-0")
	t.Logf("without TLS: refused after %v: %s", r.exit("worker-0", 1), lastLine(plain.all()))
	plain.args = nil
	r.start("worker-0")
	r.reach("worker-0", 1)
	r.exit("worker-0", 0)
	r.exit("ps-0", 0)
	r.ended("chief-0", 3000, 3001)
}
