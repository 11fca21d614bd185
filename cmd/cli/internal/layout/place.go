package layout

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/distributed/replica"
	"github.com/goestimator/goestimator/runconfig"
)

// Placed is a task on its host.
type Placed struct {
	Host     string
	Task     replica.Task
	Address  string // host:port
	TFConfig string
}

// Options are the parameters of a placement.
type Options struct {
	Hosts   []string // names or IP addresses, with or without :port
	Port    int      // port of the first task on a host without :port; further tasks there get the next ports
	Servers int      // number of parameter servers, if the layout counts them
}

// Place places tasks on hosts, in the order of the hosts. It checks every TF_CONFIG by
// reading it with [runconfig.FromTFConfig], as its task will.
func (l Layout) Place(o Options) ([]Placed, error) {
	least := l.MinHosts
	if l.CountsServers {
		least += max(o.Servers-1, 0)
	}
	if len(o.Hosts) < least {
		return nil, fmt.Errorf("layout %s: got %d hosts, expected %d at least", l.Name, len(o.Hosts), least)
	}
	var tasks []Placed
	cluster, owner := map[string][]string{}, map[string]replica.Task{}
	for i, roles := range l.roles(len(o.Hosts), o.Servers) {
		host, port, err := splitHost(o.Hosts[i], o.Port)
		if err != nil {
			return nil, err
		}
		for j, role := range roles {
			p := Placed{Host: host, Task: replica.Task{Type: role, Index: len(cluster[role])}}
			if p.Address, err = address(host, port+j); err != nil {
				return nil, fmt.Errorf("%v: %w", p.Task, err)
			}
			if other, taken := owner[canonical(p.Address)]; taken {
				return nil, fmt.Errorf("%v and %v have the same address %s: list each host once, or with ports of its own (host:port)", other, p.Task, p.Address)
			}
			owner[canonical(p.Address)] = p.Task
			cluster[role] = append(cluster[role], p.Address)
			tasks = append(tasks, p)
		}
	}
	return tasks, configure(tasks, cluster)
}

// configure gives each task its TF_CONFIG.
func configure(tasks []Placed, cluster map[string][]string) error {
	for i := range tasks {
		p := &tasks[i]
		p.TFConfig = replica.TFConfig(cluster, p.Task)
		rc, err := runconfig.FromTFConfig(p.TFConfig)
		if err != nil {
			return fmt.Errorf("%v on %s: %w", p.Task, p.Host, err)
		}
		if rc.TaskType() != p.Task.Type || rc.TaskID() != p.Task.Index {
			return fmt.Errorf("%v on %s: its TF_CONFIG reads as %s-%d", p.Task, p.Host, rc.TaskType(), rc.TaskID())
		}
	}
	return nil
}

// splitHost returns the name of a host and the port of its first task.
func splitHost(text string, port int) (string, int, error) {
	host := text
	if h, p, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.Atoi(p)
		if err != nil {
			return "", 0, fmt.Errorf("host %q: got port %q, expected a number", text, p)
		}
		host, port = h, n
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if !hostName.MatchString(host) {
		if _, err := netip.ParseAddr(host); err != nil || !zone.MatchString(host) {
			return "", 0, fmt.Errorf("host %q: expected a host name or IP address, with :port or without", text)
		}
	}
	return host, port, nil
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9_][-A-Za-z0-9._]*$`)
	zone     = regexp.MustCompile(`^[^%]*(%[A-Za-z0-9._-]+)?$`) // of an IPv6 address; the zone may be any name
)

// canonical is the canonical form of an address that can be written in several ways.
func canonical(address string) string {
	if a, err := netip.ParseAddrPort(address); err == nil {
		return a.String()
	}
	return strings.ToLower(address)
}

func address(host string, port int) (string, error) {
	if port < 1 || port > 65535 {
		return "", fmt.Errorf("got port %d on %s, expected 1 to 65535", port, host)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
