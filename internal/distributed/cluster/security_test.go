package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/cluster/clustertest"
	"github.com/goestimator/goestimator/runconfig"
)

var (
	worker = cluster.Task{Job: "worker"}
	ps     = cluster.Task{Job: "ps"}
)

func ping() cluster.Service {
	return cluster.Service{Name: "test.Ping", Unary: map[string]cluster.Handler{
		"Ping": func(context.Context, *cluster.Frame) (*cluster.Frame, error) {
			return &cluster.Frame{Header: []byte("pong")}, nil
		},
	}}
}

// talk calls from a node with one Security to a node with another, and returns the error.
func talk(t *testing.T, from, to cluster.Security) error {
	t.Helper()
	server := serve(t, to, "127.0.0.1:0")
	return call(t, from, server.Addr())
}

func serve(t *testing.T, s cluster.Security, address string) *cluster.Node {
	t.Helper()
	n, err := cluster.Open(cluster.Config{Task: ps, Address: address, Security: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Register(ping()); err != nil {
		t.Fatal(err)
	}
	n.Serve()
	return n
}

func client(t *testing.T, s cluster.Security, address string) *cluster.Node {
	t.Helper()
	spec := runconfig.NewClusterSpec(map[string][]string{"ps": {address}})
	n, err := cluster.Open(cluster.Config{Task: worker, Spec: spec, Security: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func call(t *testing.T, s cluster.Security, address string) error {
	t.Helper()
	return callOnce(t, client(t, s, address))
}

func callOnce(t *testing.T, n *cluster.Node) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f, err := n.Call(ctx, ps, "/test.Ping/Ping", &cluster.Frame{})
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the call waited for its deadline")
	}
	f.Release()
	return err
}

// issue returns the settings of a task with a certificate.
func issue(t *testing.T, a *clustertest.Authority, c clustertest.Certificate) cluster.Security {
	t.Helper()
	s := cluster.Security{CA: a.CAFile}
	s.Cert, s.Key = a.Issue(t, t.TempDir(), c)
	return s
}

func TestWhoMayTalkToWhom(t *testing.T) {
	a, untrusted := clustertest.NewAuthority(t), clustertest.NewAuthority(t)
	good := issue(t, a, clustertest.Certificate{})
	mutual := good
	mutual.ClientAuth, mutual.Mode = true, "tls"
	named := issue(t, a, clustertest.Certificate{Hosts: []string{"job.example"}})
	expecting := good
	expecting.ServerName = "job.example"
	trusting := good
	trusting.CA = untrusted.CAFile
	foreign := issue(t, untrusted, clustertest.Certificate{})
	foreign.CA = a.CAFile
	expired := issue(t, a, clustertest.Certificate{Expired: true})
	token, wrong := cluster.Security{Token: "secret"}, cluster.Security{Token: "guess"}
	both := good
	both.Token = "secret"

	for name, c := range map[string]struct {
		from, to cluster.Security
		refused  string // a part of the caller's error; "": it is admitted
	}{
		"plain to plain":                       {cluster.Security{}, cluster.Security{}, ""},
		"TLS to TLS":                           {cluster.Security{CA: a.CAFile}, good, ""},
		"mutual TLS":                           {good, mutual, ""},
		"TLS and token":                        {both, both, ""},
		"token":                                {token, token, ""},
		"another name, which is expected":      {expecting, named, ""},
		"plain to TLS":                         {cluster.Security{}, good, "it wants TLS, and this task has no certificates: set rpc.ca_file"},
		"TLS to plain":                         {good, cluster.Security{}, "it does not speak TLS: set rpc.cert_file"},
		"wrong CA":                             {trusting, good, "is not signed by this task's rpc.ca_file"},
		"server's certificate of a foreign CA": {good, foreign, "is not signed by this task's rpc.ca_file"},
		"server's certificate expired":         {good, expired, "expired or not valid yet"},
		"server's certificate for other names": {good, named, "set rpc.server_name"},
		"no client certificate":                {cluster.Security{CA: a.CAFile}, mutual, "check this task's rpc.cert_file"},
		"client's certificate of a foreign CA": {foreign, mutual, "check this task's rpc.cert_file"},
		"client's certificate expired":         {expired, mutual, "check this task's rpc.cert_file"},
		"no token":                             {cluster.Security{}, token, "no job token: start every task with the same GOESTIMATOR_JOB_TOKEN"},
		"wrong token":                          {wrong, token, "a wrong job token"},
		"TLS, but no token":                    {good, both, "no job token"},
		"a token that nobody asks for":         {token, cluster.Security{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := talk(t, c.from, c.to)
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (!errors.Is(err, cluster.ErrRefused) || errors.Is(err, cluster.ErrPeerLost) || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want it refused: %s", err, c.refused)
			}
		})
	}
}

func TestRefusedStreamAndHealth(t *testing.T) {
	good := issue(t, clustertest.NewAuthority(t), clustertest.Certificate{})
	n := client(t, cluster.Security{}, serve(t, good, "127.0.0.1:0").Addr())
	for range 2 {
		if _, err := n.Stream(t.Context(), ps, "/test.Ping/Ping"); !errors.Is(err, cluster.ErrRefused) {
			t.Errorf("stream: got %v", err)
		}
		if err := n.Healthy(t.Context(), ps); !errors.Is(err, cluster.ErrRefused) {
			t.Errorf("health: got %v", err)
		}
	}
	untrusted := client(t, cluster.Security{}, serve(t, cluster.Security{Token: "secret"}, "127.0.0.1:0").Addr())
	if err := untrusted.Healthy(t.Context(), ps); err != nil {
		t.Errorf("a probe needs no token: got %v", err)
	}
	s, err := untrusted.Stream(t.Context(), ps, "/test.Ping/Ping")
	if err == nil {
		_, err = s.Recv()
	}
	if !errors.Is(err, cluster.ErrRefused) {
		t.Errorf("a stream without the token: got %v", err)
	}
}

func TestCertificatesAreReadAgain(t *testing.T) {
	first, second := clustertest.NewAuthority(t), clustertest.NewAuthority(t)
	dir := t.TempDir()
	s := cluster.Security{CA: first.CAFile}
	s.Cert, s.Key = first.Issue(t, dir, clustertest.Certificate{})
	address := serve(t, s, "127.0.0.1:0").Addr()
	trusting := cluster.Security{CA: second.CAFile}
	caller := client(t, trusting, address)
	if err := callOnce(t, caller); !errors.Is(err, cluster.ErrRefused) {
		t.Fatalf("before: got %v", err)
	}

	key, err := os.ReadFile(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	second.Issue(t, dir, clustertest.Certificate{})
	whole, err := os.ReadFile(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Key, key, 0o600); err != nil { // the pair is half written
		t.Fatal(err)
	}
	if err := call(t, cluster.Security{CA: first.CAFile}, address); err != nil {
		t.Errorf("with half a pair the one before should be used: %v", err)
	}
	if err := os.WriteFile(s.Key, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := call(t, trusting, address); err != nil {
		t.Errorf("a new caller after the rotation: %v", err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for err = callOnce(t, caller); err != nil && time.Now().Before(deadline); err = callOnce(t, caller) {
		if !errors.Is(err, cluster.ErrRefused) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // between connection attempts of the transport
	}
	if err != nil {
		t.Errorf("the caller that was refused before does not find out: %v", err)
	}
	if err := call(t, cluster.Security{CA: first.CAFile}, address); !errors.Is(err, cluster.ErrRefused) {
		t.Errorf("a caller that trusts the CA of before: got %v", err)
	}
}

// TestReadingCertificatesAgainIsLogged: a change is logged once, unusable files at every look.
func TestReadingCertificatesAgainIsLogged(t *testing.T) {
	var out lines
	s := issue(t, clustertest.NewAuthority(t), clustertest.Certificate{})
	n, err := cluster.Open(cluster.Config{Task: ps, Address: "127.0.0.1:0", Security: s, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	n.Serve()
	old, err := os.ReadFile(s.Cert)
	if err != nil {
		t.Fatal(err)
	}
	look := func(again, unusable bool) {
		t.Helper()
		out.take()
		c, err := tls.Dial("tcp", n.Addr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		log := out.take()
		if strings.Contains(log, "certificates were loaded again") != again || strings.Contains(log, "those before stay in use") != unusable {
			t.Errorf("loaded again: expected %v, cannot be used: expected %v, got %s", again, unusable, log)
		}
	}
	look(false, false)
	for _, c := range []struct {
		cert            []byte
		again, unusable bool
	}{{append(slices.Clone(old), '\n'), true, false}, {nil, false, true}, {old, true, false}} {
		if err := os.WriteFile(s.Cert, c.cert, 0o600); err != nil {
			t.Fatal(err)
		}
		look(c.again, c.unusable)
		look(false, c.unusable)
	}
	if err := os.Remove(s.Cert); err != nil {
		t.Fatal(err)
	}
	look(false, true)
}

// lines is a log for several goroutines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns the text written since the last call.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func TestSettingsThatCannotWork(t *testing.T) {
	a := clustertest.NewAuthority(t)
	good := issue(t, a, clustertest.Certificate{})
	garbage := t.TempDir() + "/garbage.pem"
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]cluster.Security{
		`"maybe", expected auto or tls`:       {Mode: "maybe"},
		"rpc.security is tls, but":            {Mode: "tls"},
		"only one is set":                     {Cert: good.Cert},
		"set rpc.cert_file and rpc.key_file":  {CA: a.CAFile},
		"the job token":                       {Token: "two\nlines"},
		"rpc.client_auth needs":               {Cert: good.Cert, Key: good.Key, ClientAuth: true},
		"holds no certificate in PEM form":    {CA: garbage, Cert: good.Cert, Key: good.Key},
		"rpc.cert_file " + garbage:            {Cert: garbage, Key: good.Key},
		"rpc.key_file: open /does/not/exist:": {Cert: good.Cert, Key: "/does/not/exist"},
	} {
		_, err := cluster.Open(cluster.Config{Task: ps, Address: "127.0.0.1:0", Security: s, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPlaintextIsWarnedOfOnce(t *testing.T) {
	good := issue(t, clustertest.NewAuthority(t), clustertest.Certificate{})
	for _, c := range []struct {
		s    cluster.Security
		peer string
		want int
	}{{cluster.Security{}, "elsewhere:1", 1}, {cluster.Security{}, "localhost:1", 0}, {good, "elsewhere:1", 0}} {
		var out bytes.Buffer
		spec := runconfig.NewClusterSpec(map[string][]string{"worker": {c.peer}})
		n, err := cluster.Open(cluster.Config{Task: ps, Address: "127.0.0.1:0", Spec: spec, Security: c.s, Log: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		n.Serve()
		n.Close()
		if got := strings.Count(out.String(), "plaintext"); got != c.want {
			t.Errorf("%d warnings, want %d: %s", got, c.want, out.String())
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	n := serve(t, issue(t, clustertest.NewAuthority(t), clustertest.Certificate{}), "127.0.0.1:0")
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		c, err := tls.Dial("tcp", n.Addr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MinVersion: version, MaxVersion: version})
		if (err == nil) != want {
			t.Errorf("%s: got %v", tls.VersionName(version), err)
		}
		if err == nil {
			c.Close()
		}
	}
}

// TestTheServerSaysWhomItRefused: once, however often the caller tries.
func TestTheServerSaysWhomItRefused(t *testing.T) {
	for want, s := range map[string]cluster.Security{
		"the caller speaks plaintext, this task TLS": issue(t, clustertest.NewAuthority(t), clustertest.Certificate{}),
		"the caller speaks TLS, this task has no":    {},
	} {
		var out bytes.Buffer
		n, err := cluster.Open(cluster.Config{Task: ps, Address: "127.0.0.1:0", Security: s, Log: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		n.Serve()
		caller := cluster.Security{}
		if s.CA == "" {
			caller = issue(t, clustertest.NewAuthority(t), clustertest.Certificate{})
		}
		for range 2 {
			if err := call(t, caller, n.Addr()); !errors.Is(err, cluster.ErrRefused) {
				t.Error(err)
			}
		}
		n.Close()
		if got := strings.Count(out.String(), want); got != 1 {
			t.Errorf("%q was logged %d times: %s", want, got, out.String())
		}
	}
}

// TestProxyVariablesAreIgnored calls an address that is not loopback, for which HTTP clients would use the
// (dead) proxy of TestMain.
func TestProxyVariablesAreIgnored(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.To4() == nil {
			continue
		}
		n := serve(t, cluster.Security{}, net.JoinHostPort(ip.IP.String(), "0"))
		_, port, err := net.SplitHostPort(n.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if err := call(t, cluster.Security{}, net.JoinHostPort(ip.IP.String(), port)); err != nil {
			t.Error(err)
		}
		return
	}
	t.Skip("this machine has no address but loopback")
}
