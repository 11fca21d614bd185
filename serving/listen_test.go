package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// paper is a listener that nobody can reach.
type paper struct {
	net.Listener
	at     net.TCPAddr
	closed *int
}

func (p paper) Addr() net.Addr { return &p.at }
func (p paper) Close() error   { *p.closed++; return nil }

// machine is a machine without some addresses, or with ports in use.
type machine struct {
	four, six error
	taken     map[string]bool // ports in use at [::1]
	next      int             // free port of 127.0.0.1
	closed    int
}

func (m *machine) listen(network, address string) (net.Listener, error) {
	host, port, _ := net.SplitHostPort(address)
	fail := m.four
	if network == "tcp6" {
		if fail = m.six; fail == nil && m.taken[port] {
			fail = syscall.EADDRINUSE
		}
	}
	if fail != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: fail}
	}
	n, _ := strconv.Atoi(port)
	if n == 0 {
		m.next++
		n = m.next
	}
	return paper{at: net.TCPAddr{IP: net.ParseIP(host), Port: n}, closed: &m.closed}, nil
}

// Loopback is 127.0.0.1 and [::1] on the same port, if the machine has both.
func TestOnLoopback(t *testing.T) {
	const both = "127.0.0.1:%d [::1]:%[1]d"
	all := map[string]bool{}
	for p := range 2 * freePorts {
		all[strconv.Itoa(p)] = true
	}
	for name, c := range map[string]struct {
		m      machine
		port   int
		want   string
		fails  error
		closed int
	}{
		"given":                        {machine{}, 8500, fmt.Sprintf(both, 8500), nil, 0},
		"free":                         {machine{next: 4000}, 0, fmt.Sprintf(both, 4001), nil, 0},
		"free, others have some":       {machine{next: 4000, taken: map[string]bool{"4001": true, "4002": true}}, 0, fmt.Sprintf(both, 4003), nil, 2},
		"free, others have all":        {machine{taken: all}, 0, "", syscall.EADDRINUSE, freePorts},
		"given, another has one":       {machine{taken: map[string]bool{"8500": true}}, 8500, "", syscall.EADDRINUSE, 1},
		"given, another has the first": {machine{four: syscall.EADDRINUSE}, 8500, "", syscall.EADDRINUSE, 0},
		"no IPv6 address":              {machine{six: syscall.EADDRNOTAVAIL}, 8500, "127.0.0.1:8500", nil, 0},
		"no IPv6":                      {machine{six: syscall.EAFNOSUPPORT, next: 4000}, 0, "127.0.0.1:4001", nil, 0},
		"no IPv4":                      {machine{four: syscall.EAFNOSUPPORT, next: 4000}, 0, "[::1]:4001", nil, 0},
		"no IPv4 address":              {machine{four: syscall.EADDRNOTAVAIL}, 8500, "[::1]:8500", nil, 0},
		"a port of the system's":       {machine{four: syscall.EACCES, six: syscall.EACCES}, 80, "", syscall.EACCES, 0},
	} {
		ls, err := onLoopback(c.m.listen, c.port)
		if got := strings.Join(addresses(ls), " "); got != c.want || !errors.Is(err, c.fails) || c.m.closed != c.closed {
			t.Errorf("%s: %q, %v, %d closed", name, got, err, c.m.closed)
		}
	}
}

// hasIPv6 reports whether this machine has [::1].
func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	return err == nil && l.Close() == nil
}

// Only this machine can reach a server without a host, by both loopback addresses.
func TestLoopbackByDefault(t *testing.T) {
	for _, host := range []string{"", "localhost"} {
		s, err := New(Options{Loader: loader, Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: host}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(testContext(t))
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		<-s.Available()
		hosts := []string{"127.0.0.1"}
		if hasIPv6() {
			hosts = append(hosts, "::1")
		}
		for _, h := range append(hosts, "localhost") {
			rest, grpc := net.JoinHostPort(h, portOf(t, s.Addresses().REST)), net.JoinHostPort(h, portOf(t, s.Addresses().GRPC))
			if got := do(t, "POST", "http://"+rest+"/v1/models/m:predict", `{"instances": [1]}`); !strings.HasPrefix(got, "200 ") {
				t.Errorf("host %q: %s: %s", host, rest, got)
			}
			if _, err := predict(t, dial(t, grpc), "m"); err != nil {
				t.Errorf("host %q: %s: %v", host, grpc, err)
			}
		}
		for _, a := range otherAddresses(t) {
			for _, at := range []string{s.Addresses().REST, s.Addresses().GRPC} {
				if c, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", net.JoinHostPort(a, portOf(t, at))); err == nil {
					t.Errorf("host %q: it answers at %s", host, c.RemoteAddr())
					c.Close()
				}
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// otherAddresses returns the addresses by which other machines may reach this one.
func otherAddresses(t *testing.T) (all []string) {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			all = append(all, n.IP.String())
		}
	}
	return all
}

// A fixed port is used for both loopback addresses; a second server gets the error that it is in use.
func TestGivenLoopbackPort(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(portOf(t, free.Addr().String()))
	free.Close()
	o := Options{Loader: loader, Models: single(folders(t, "m/1"), "m"), Listen: Listen{REST: port, Port: -1}}
	one, err := New(o)
	if err != nil {
		t.Skipf("another process has taken port %d meanwhile: %v", port, err)
	}
	defer one.Close()
	if two, err := New(o); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server: %v", err)
		two.Close()
	}
}

// The end closes both addresses, and their connections.
func TestBothAddressesEnd(t *testing.T) {
	if !hasIPv6() {
		t.Skip("no IPv6")
	}
	s := run(t, Options{Models: single(folders(t, "m/1"), "m"), Listen: Listen{Host: "localhost"}}).wait(t)
	at := s.Addresses()
	for _, h := range []string{"127.0.0.1", "::1"} {
		resp, err := http.Get("http://" + net.JoinHostPort(h, portOf(t, at.REST)) + "/healthz") // its connection is kept
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		conn, err := grpc.NewClient(net.JoinHostPort(h, portOf(t, at.GRPC)), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(testContext(t), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
	http.DefaultClient.CloseIdleConnections()
	for _, h := range []string{"127.0.0.1", "::1"} {
		for _, a := range []string{at.REST, at.GRPC} {
			if c, err := net.Dial("tcp", net.JoinHostPort(h, portOf(t, a))); err == nil {
				t.Errorf("%s still answers", c.RemoteAddr())
				c.Close()
			}
		}
	}
}
